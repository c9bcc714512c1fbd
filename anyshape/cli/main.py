"""Command line: anyshape demo | show | explain | profile | report | check | export | run | cache | completion."""

import argparse
import json
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from anyshape import debug
from anyshape.backend.native import toolchain
from anyshape.cli import check_command
from anyshape.cli import load_target as targets
from anyshape.demo import train
from anyshape.errors import AnyshapeError
from anyshape.inspect.draw.picture import to_dot
from anyshape.inspect.explanation import Explanation
from anyshape.program.program import Program
from anyshape.support.packages import argcomplete, demo_cluster
from anyshape.support.version import __version__
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import flatten, result_paths
from anyshape.tracing.source import stored
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.arguments.specs import trace
from anyshape.transforms.grad import value_and_grad
from anyshape.transforms.jit import explain, export, jit, load, profile

EPILOG = """examples:
  anyshape show anyshape.demo.cluster:loss --shapes "d; n, d+1" --grad
  anyshape show anyshape.demo.cluster:loss --shapes "d; n, d+1" --html loss.html
  anyshape show anyshape.numpy:tile --shapes "n, 3; =k"
  anyshape explain anyshape.demo.train:layer_norm --shapes "n, d; d" --sizes 1,8
  anyshape profile anyshape.demo.cluster:loss --shapes "d; n, d+1" --sizes n=300,d=64 --html profile.html
  anyshape check numpy:matmul --shapes "n, k; k, 3" --sizes 0,1,5
  anyshape export anyshape.demo.cluster:loss --shapes "d; n, d+1" --out loss.anyshape
  anyshape show loss.anyshape --html loss.html
  anyshape run loss.anyshape arguments.npz --out results.npz
  anyshape report --html report.html script.py
  anyshape cache --clear
  anyshape completion bash >> ~/.bashrc
"""


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 if a check failed, or 2 for a mistake on the command line."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell has asked for completions
        argcomplete.autocomplete(parser)
    options, rest = parser.parse_known_args(argv)
    if options.command is None and not rest:
        parser.print_help()
        return 0
    if options.command is None:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest and options.command != "demo":
        return _complain(options.command, f"unrecognized arguments: {' '.join(rest)}")
    try:
        return options.run(options, rest)
    except (targets.UsageError, AnyshapeError) as error:
        return _complain(options.command, targets.one_line(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone, as with `| head`
        return 0


def _complain(command: str, message: str) -> int:
    print(f"anyshape {command}: {message}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="anyshape",
        description="Plain NumPy traced once, differentiated, and run at any shape.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"anyshape {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser(
        "demo",
        help="train a small language model on paragraphs of any length (demo cluster: a fit on workers)",
        add_help=False,
    )
    demo.set_defaults(run=_demo)
    show = _command(commands, "show", "print or draw the program of a function", _show, "described grad json")
    show.add_argument("--plan", action="store_true", help="print the plan that runs, not the graph")
    show.add_argument("--c", action="store_true", help="print the C that loops become, with the lines of the function")
    show.add_argument("--html", metavar="FILE", help="draw the graph, with what it relies on and costs, as one page")
    show.add_argument("--beside", metavar="TARGET", help="with --html: compare with this function or saved program")
    show.add_argument("--dot", metavar="FILE", help="draw the graph as Graphviz source (-: print it)")
    about = "say which programs sizes need, and what each relies on"
    explained = _command(commands, "explain", about, _explain, "described grad sizes json")
    explained.add_argument("--html", metavar="FILE", help="write it as one page (-: print it)")
    _add_measurements(commands)
    _add_files(commands)
    return parser


def _command(commands, name: str, about: str, run: Callable[..., int], shared: str = "json") -> argparse.ArgumentParser:
    """Add a command with these of the arguments that commands share."""
    parser = commands.add_parser(name, help=about)
    parser.set_defaults(run=run)
    for flag, options in [row for group in shared.split() for row in _SHARED[group].items()]:
        parser.add_argument(flag, **options)
    return parser


_SHAPES = 'one for each argument: "n, 4; 4, 3"; names are unknown sizes; "=k" is an integer that is a size itself'
_SHARED: dict[str, dict[str, dict[str, Any]]] = {
    "described": {  # a function and its arguments
        "target": {"help": "module:function, path/to/file.py:function, or a saved program"},
        "--shapes": {"help": _SHAPES},
        "--dtypes": {"default": "f64", "help": 'one for all or one for each: "f64; i32" (%(default)s)'},
    },
    "grad": {"--grad": {"action": "store_true", "help": "of its value and gradient"}},
    "sizes": {"--sizes": {"default": "0,1,2,5", "help": "tried for each unknown size (%(default)s)"}},
    "seed": {"--seed": {"type": int, "default": 0, "help": "of the random arguments (%(default)s)"}},
    "json": {"--json": {"action": "store_true", "help": "print the result as JSON"}},
}


def _add_measurements(commands) -> None:
    """Add the commands that run a function."""
    about = "say where the time of a call goes, step by step"
    timed = _command(commands, "profile", about, _profile, "described grad seed json")
    timed.add_argument("--sizes", default="1000", help='of a call: "n=200, d=64", or one for all (%(default)s)')
    timed.add_argument("--repeat", type=int, metavar="N", help="calls that are timed (until half a second is filled)")
    timed.add_argument("--html", metavar="FILE", help="write the time as nested bars, as one page (-: print it)")
    about = "compare values and derivatives with NumPy at several sizes"
    check = _command(commands, "check", about, _check, "described sizes seed json")
    check.add_argument("--order", type=int, default=2, metavar="N", help="order of derivatives (%(default)s)")
    check.add_argument("--domain", default="-2,2", help="interval of the random arguments (%(default)s)")


def _add_files(commands) -> None:
    """Add the commands for programs in files."""
    about = "write the program of a function to a file, for any process"
    exported = _command(commands, "export", about, _export, "described grad json")
    exported.add_argument("-o", "--out", required=True, metavar="FILE", help="file of the program")
    ran = _command(commands, "run", "run a saved program on arrays in files", _run)
    ran.add_argument("target", help="a saved program")
    ran.add_argument("files", nargs="*", help="a .npy for each argument, or a .npz with their names")
    ran.add_argument("-o", "--out", metavar="FILE", help="write the results to a .npy or .npz (else they are printed)")
    about = "run a script, and write why each program was traced as one page"
    reported = _command(commands, "report", about, _report, "")
    reported.add_argument("--html", default="report.html", metavar="FILE", help="the page (%(default)s)")
    reported.add_argument("target", help="a script")
    reported.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    cached = _command(commands, "cache", "say what the cache of machine code holds, or clear it", _cache)
    cached.add_argument("--clear", action="store_true", help="remove everything in it")
    about = "print the script by which a shell completes this command"
    completed = _command(commands, "completion", about, _completion, "")
    completed.add_argument("shell", choices=("bash", "zsh", "fish"))


def _print_json(data) -> None:
    print(json.dumps(data, indent=2, default=str))


def _demo(options: argparse.Namespace, rest: list[str]) -> int:
    return demo_cluster.main(rest[1:]) if rest[:1] == ["cluster"] else train.main(rest)


def _show(options: argparse.Namespace, rest: list[str]) -> int:
    if options.beside is not None and options.html is None:
        raise targets.UsageError("--beside needs --html FILE, where the page that compares goes")
    program = _traced(options)
    beside = argparse.Namespace(**{**vars(options), "target": options.beside})
    other = None if options.beside is None else _traced(beside)
    drawings = [(options.html, lambda p: p.html(beside=other)), (options.dot, to_dot)]
    pages = [(path, draw(program)) for path, draw in drawings if path is not None]
    if options.json:
        _print_json(described(program))
    elif options.c:
        print(program.c_source())
    elif options.plan or not pages:
        print(program.plan if options.plan else program)
    for path, text in pages:
        targets.write_text(path, text)
    return 0


def _traced(options: argparse.Namespace) -> Program:
    """Return the program of the named function and arguments, or the program of a file."""
    if options.shapes is None and targets.is_saved(options.target) and not options.grad:
        return load(options.target)
    function, arguments = _described(options)
    with targets.blamed(options.target):
        return trace(function)(*arguments.structs)


def _loaded(options: argparse.Namespace) -> tuple[Callable[..., Any], targets.Arguments]:
    """Return the named function with the arguments that --shapes describes, which a saved program has itself."""
    function = targets.load_function(options.target)
    if options.shapes is not None:
        return function, targets.read_arguments(function, options.shapes, options.dtypes)
    if not isinstance(function, Program):
        raise targets.UsageError(f'{options.target} needs --shapes, one for each argument, as in --shapes "n, 4; 4"')
    return function, targets.arguments_of(function)


def _described(options: argparse.Namespace) -> tuple[Callable[..., Any], targets.Arguments]:
    """Return the named function, or its value and gradient, and its arguments."""
    function, arguments = _loaded(options)
    if not options.grad:
        return function, arguments
    if not (moving := tuple(i for i, d in enumerate(arguments.dtypes) if is_inexact(d))):
        raise targets.UsageError("--grad needs an argument of a float dtype; give one in --dtypes")
    return value_and_grad(function, argnums=moving), arguments


def _explain(options: argparse.Namespace, rest: list[str]) -> int:
    report = explain_report(*_described(options), options.sizes, options.target)
    if options.html is not None:
        targets.write_text(options.html, report.explanation.html())
    if options.json:
        _print_json(report.to_dict())
    elif options.html is None:
        print(report)
    return 0


def _profile(options: argparse.Namespace, rest: list[str]) -> int:
    """Print the profile, and write the page if requested; a page on standard output is alone there."""
    function, arguments = _described(options)
    if options.repeat is not None and options.repeat < 1:
        raise targets.UsageError(f"--repeat is {options.repeat}; give 1 or more")
    args = _random(arguments, targets.named_sizes(arguments, options.sizes), options)
    declared = [spec or None for spec in arguments.specs]
    target = function if isinstance(function, Program) else jit(function, dynamic_shapes=declared)
    file = sys.stderr if options.html == "-" or options.json else None
    with targets.blamed(options.target):
        result = profile(target, repeat=options.repeat, file=file)(*args)
    if options.html is not None:
        targets.write_text(options.html, result.html())
    if options.json:
        _print_json(result.to_dict())
    return 0


def _export(options: argparse.Namespace, rest: list[str]) -> int:
    function, arguments = _described(options)
    with targets.blamed(options.target):
        program = export(function)(*arguments.structs)
    try:
        program.save(options.out)
    except OSError as error:
        raise targets.UsageError(f"cannot write {options.out!r}: {error.strerror or error}") from error
    if options.json:
        _print_json(described(program))
    return 0


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    if not targets.is_saved(options.target):
        raise targets.UsageError(f"{options.target!r} is not a saved program; write one with anyshape export")
    program = load(options.target)
    leaves, structure = flatten(program(*_arguments(program, options.files)))
    results = {path: np.asarray(x) for path, x in zip(result_paths(structure), leaves, strict=True)}
    if options.out is not None:
        save_results(results, options.out)
    if options.json:
        _print_json({path: x.tolist() for path, x in results.items()})
    elif options.out is None:
        print("\n".join([f"{path}: {x.dtype}{list(x.shape)}\n{x}" for path, x in results.items()]))
    return 0


def _report(options: argparse.Namespace, rest: list[str]) -> int:
    if not Path(options.target).is_file():
        raise targets.UsageError(f"there is no file {options.target}")
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = [options.target, *options.arguments], [str(Path(options.target).resolve().parent)]
    try:
        with debug.report(options.html):
            runpy.run_path(options.target, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
    print(f"anyshape report: wrote {options.html}", file=sys.stderr)
    return 0


def _cache(options: argparse.Namespace, rest: list[str]) -> int:
    try:
        folder, objects = toolchain.cache_folder(), toolchain.cached_objects()
        if options.clear:
            toolchain.clear_cache()
            stored.clear()
    except (toolchain.BuildError, OSError) as error:
        raise targets.UsageError(str(error)) from error
    held, most = sum([cached.bytes for cached in objects]), toolchain.MOST_BYTES
    facts = {"folder": str(folder), "objects": len(objects), "bytes": held, "limit": most, "cleared": options.clear}
    if options.json:
        _print_json(facts)
    else:
        did = "removed " if options.clear else ""
        print(f"{folder}: {did}{len(objects)} libraries of kernels, {held / 1e6:.1f} of at most {most / 1e6:.0f} MB")
    return 0


def _completion(options: argparse.Namespace, rest: list[str]) -> int:
    print(argcomplete.shellcode(["anyshape"], shell=options.shell))
    return 0


def _check(options: argparse.Namespace, rest: list[str]) -> int:
    return check_command.main(*_loaded(options), options)


def _arguments(program: Program, files: Sequence[str]) -> list[np.ndarray]:
    """Return the arrays of the files. In a .npz they are named by the parameters of the program."""
    arrays: list[np.ndarray] = []
    named: dict[str, np.ndarray] = {}
    for file in files:
        if isinstance(content := _read(file), dict):
            named |= content
        else:
            arrays.append(content)
    names = list(program.__signature__.parameters)[len(arrays) :]
    missing = [name for name in names if name not in named]
    surplus = [name for name in named if name not in names]
    if missing or surplus:
        taken = ", ".join(program.__signature__.parameters)
        problem = f"do not give {missing[0]}" if missing else f"give {surplus[0]!r} besides"
        raise targets.UsageError(f"the files {problem}; {program.name} takes {taken}")
    return [*arrays, *[named[name] for name in names]]


def _read(file: str):
    """Return the array of a .npy file, or the arrays of a .npz file by name. Nothing in it is executed."""
    try:
        content = np.load(Path(file), allow_pickle=False)
        return dict(content) if isinstance(content, np.lib.npyio.NpzFile) else content
    except (OSError, ValueError, EOFError) as error:
        raise targets.UsageError(f"cannot read {file!r} as .npy or .npz: {targets.one_line(error)}") from error


def save_results(results: dict[str, np.ndarray], path: str) -> None:
    """Write the results to a .npy file if there is one, else to a .npz file by their paths."""
    try:
        if path.endswith(".npy"):
            if len(results) != 1:
                raise targets.UsageError(
                    f"{path!r} holds one array, and there are {len(results)} results; name a .npz file"
                )
            np.save(path, next(iter(results.values())))
        else:
            np.savez(path, **results)  # type: ignore[arg-type]
    except OSError as error:
        raise targets.UsageError(f"cannot write {path!r}: {error.strerror or error}") from error


def described(program: Program) -> dict[str, Any]:
    """Return the arguments, results and text of a program, as JSON holds them."""
    sides = {"inputs": program.inputs, "outputs": program.outputs}
    shown = {
        side: {path: {"shape": [str(s) for s in x.shape], "dtype": str(x.dtype)} for path, x in structs.items()}
        for side, structs in sides.items()
    }
    return {"name": program.name, **shown, "text": str(program).splitlines()}


_LISTED = 8  # assignments of sizes on one line


class ExplainReport(NamedTuple):
    """Explanation of a function, the sizes that each program serves, and the ones that are an error, by message."""

    served: dict[int, list[str]]
    refused: dict[str, list[str]]
    explanation: Explanation

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as dicts, lists, texts and numbers, as JSON holds them."""
        return {"served": self.served, "refused": self.refused, "explanation": self.explanation.to_dict()}

    def __str__(self) -> str:
        lines = [f"program {number} serves {_few(cases)}" for number, cases in self.served.items()]
        refusals = [f"an error for {_few(cases)}: {message}" for message, cases in self.refused.items()]
        return "\n".join([*lines, *refusals, "", str(self.explanation)])


def explain_report(
    function: Callable[..., Any], arguments: targets.Arguments, sizes: str, target: str
) -> ExplainReport:
    """Return the explanation of the function, with the sizes that each of its programs serves."""
    declared = [spec or None for spec in arguments.specs]  # the value of a number is a size only if it is named
    jitted = jit(function, dynamic_shapes=declared)
    served: dict[int, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for case in targets.assignments(arguments, targets.read_sizes(sizes)):
        every = zip(arguments.sizes(case), arguments.dtypes, arguments.by_value, strict=True)
        try:
            with targets.blamed(target):
                args = [d.type(*s) if value else ShapeDtypeStruct(s, d) for s, d, value in every]
                explanation = explain(jitted)(*args)
        except AnyshapeError as error:
            refused.setdefault(targets.one_line(error), []).append(targets.shown(case))
        else:
            if explanation.broken:
                refused.setdefault(explanation.broken[0].partition(" for ")[0], []).append(targets.shown(case))
            else:
                served.setdefault(explanation.program or 0, []).append(targets.shown(case))
    return ExplainReport(served, refused, jitted.explain())


def _few(cases: Sequence[str]) -> str:
    more = f"; and {len(cases) - _LISTED} more" if len(cases) > _LISTED else ""
    return "; ".join(cases[:_LISTED]) + more


_DOMAIN = (0.1, 0.9)  # of random arguments: roots, logarithms and inverse functions are defined there


def _random(arguments: targets.Arguments, sizes: dict[str, int], options) -> list[Any]:
    """Return random arguments of these sizes."""
    rng = np.random.default_rng(options.seed)
    every = zip(arguments.sizes(sizes), arguments.dtypes, arguments.by_value, strict=True)
    try:
        return [d.type(*s) if value else targets.draw(rng, s, d, _DOMAIN) for s, d, value in every]
    except (MemoryError, OverflowError, ValueError) as error:  # what NumPy raises, from large to larger
        raise targets.UsageError(
            f"--sizes is {options.sizes!r}, too large for arguments: {targets.one_line(error)}"
        ) from error
