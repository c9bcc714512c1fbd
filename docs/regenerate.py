"""Write printed output into the pages.

A block below `<!-- printed: name -->` shows output of this file. A block below `<!-- output -->` shows that of the
Python block before it, run by itself as example.py. `docs/sessions.py` runs the pages that are one session.

python docs/regenerate.py            write the pages
python docs/regenerate.py --check    write nothing; exit with 1 and a diff if a page is out of date
"""

import contextlib
import difflib
import gc
import io
import linecache
import logging
import os
import re
import sys
import textwrap
import warnings
from pathlib import Path

os.environ["ANYSHAPE_OPTIMIZE"] = "now"  # pages show optimised plans
os.environ["ANYSHAPE_CHECK"] = "0"  # the generated code of a plan holds no checks by default

import numpy as np
import sessions
import shown

import anyshape
from anyshape import value_and_grad
from anyshape.graph.prover import user_stack
from anyshape.tracing import log_config

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- printed: (.+?) -->\n```text\n)(.*?)(```)", re.DOTALL)
EXAMPLE = re.compile(r"(```python\n([^`]*)```\n\n<!-- output -->\n```text\n)(.*?)(```)", re.DOTALL)
TIME = re.compile(r"\b\d+\.\d+ (ms|us)\b")


def arguments(n, d=3, m=2):
    """Arguments of `loss` at these sizes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(d, m)), np.zeros(m), rng.normal(size=(n, m))


def cut(text, width=118):
    """The text with the end of long lines left out."""
    return "\n".join(line if len(line) <= width else line[: width - 3] + "..." for line in text.splitlines())


def leaves():
    """Show the leaves of the arguments."""
    step = value_and_grad(shown.loss, argnums=(1, 2))
    flat = step.leaves(*arguments(5))
    rows = [
        f"{path}: {x.dtype}, {x.ndim} axes, sizes {x.shape}" for path, x in zip(flat.paths, flat.arrays, strict=True)
    ]
    return "\n".join([*rows, f"structure: {flat.tree}"])


def cache():
    """Show the counts of the cache after calls at three lengths."""
    step = value_and_grad(shown.loss, argnums=(1, 2))
    lines = []
    for n in (5, 1, 0):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            value, _ = step(*arguments(n))
        lines.append(f"n = {n}: value {value:.4f}, {step.cache_info()}")
    return "\n".join(lines)


def guards():
    """The guard of a function that decides on a size, and its programs."""
    step = anyshape.jit(shown.cautious)
    for n in (5, 9, 2):
        step(*arguments(n))
    lines = [f"{step.cache_info()}"]
    for i, program in enumerate(step.programs()):
        lines += [f"program {i}: {c}" for c in program.graph.conditions if c.kind == "guard"]
    return "\n".join(lines)


def conditions():
    """Show the conditions of a program under jit, whose sizes are all unknown."""
    step = anyshape.jit(shown.loss)
    step(*arguments(5))
    graph = step.programs()[0].graph
    return "\n".join([str(graph).splitlines()[0], *[f"  {c}" for c in graph.conditions]])


def refused():
    """Show the error of a call whose sizes cannot agree."""
    x, w, b, y = arguments(5)
    try:
        anyshape.jit(shown.loss)(x, w[:2], b, y)
    except anyshape.AnyshapeError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("the call should have failed")


def message(name):
    """Show the message of an error."""
    if name in shown.DEFECTS:
        return str(shown.DEFECTS[name])
    logging.disable(logging.WARNING)  # of what leads to the mistake; the page shows the error alone
    try:
        shown.MISTAKES[name]()
    except anyshape.AnyshapeError as error:
        if type(error).__name__ == name:
            return str(error)
        raise
    finally:
        logging.disable(logging.NOTSET)
    raise AssertionError(f"nothing raised {name}")


def printed():
    """Every block by its name."""
    forward, program = shown.forward_program(), shown.gradient_program()
    blocks = {
        "flatten": leaves(),
        "lookup": cache(),
        "guards": guards(),
        "conditions": conditions(),
        "refused": refused(),
        "trace": forward.trace.graph,
        "transform": program.trace.graph,
        "passes": program.graph,
        "plan": program.plan,
        "run": program.run.__source__,
        "cost": forward.cost(),
    }
    return {k: cut(str(v)) for k, v in blocks.items()} | {n: message(n) for n in (*shown.MISTAKES, *shown.DEFECTS)}


def output(code):
    """Run an example and return its output; times differ from run to run and are left out."""
    user_stack._TOLD.clear()  # each example is warned of its lines, which have the numbers of others
    linecache.cache["example.py"] = len(code), None, code.splitlines(True), "example.py"
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said), logging_as_it_was():
        exec(compile(code, "example.py", "exec"), {"__name__": "example"})
    gc.collect()  # so that a Dim of the same name can be made again
    return folded(TIME.sub(r"... \1", said.getvalue()))


def folded(text, width=118):
    """The text with long lines continued on the next."""
    wrapped = [textwrap.wrap(x, width, subsequent_indent=" " * 6, break_on_hyphens=False) for x in text.splitlines()]
    return "\n".join(part for parts in wrapped for part in parts or [""])


@contextlib.contextmanager
def logging_as_it_was():
    """Undo what an example configures."""
    loggers = [logging.getLogger(name) for name in ("", *[f"anyshape.{name}" for name in log_config.NAMES])]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    try:
        yield
    finally:
        for logger, level, handlers in before:
            logger.setLevel(level)
            logger.handlers[:] = handlers


def renewed(text, blocks):
    """The page with what the code prints now."""
    text = EXAMPLE.sub(lambda m: f"{m[1]}{output(m[2]).rstrip()}\n{m[4]}", text)
    return BLOCK.sub(lambda m: f"{m[1]}{blocks[m[2]].rstrip()}\n{m[4]}", text)


def main(check):
    blocks, stale = printed(), False
    for page in sorted(DOCS.rglob("*.md")):
        old = page.read_text()
        if sessions.MARK in old:
            if check:
                continue  # tests run each session by itself
            if sessions.missing(old):
                sys.stdout.write(f"left {page.name}, which needs {', '.join(sessions.missing(old))}\n")
                continue
            new = sessions.renewed(old, draw=True)
        else:
            new = renewed(old, blocks)
        stale |= old != new
        if check:
            difference = difflib.unified_diff(old.splitlines(True), new.splitlines(True), page.name, "what is printed")
            sys.stdout.writelines(difference)
        elif old != new:
            page.write_text(new)
            sys.stdout.write(f"wrote {page.name}\n")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
