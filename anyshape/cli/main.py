"""Command line: anyshape demo | show | explain | profile | check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from anyshape.cli import check_command
from anyshape.cli.explain_command import explain_report
from anyshape.cli.load_target import (
    Arguments,
    UsageError,
    is_saved,
    load_function,
    one_line,
    read_arguments,
    write_text,
)
from anyshape.cli.profile_command import profile_report
from anyshape.demo import train
from anyshape.errors import AnyshapeError
from anyshape.inspect.draw.dot import to_dot
from anyshape.inspect.draw.html import to_html
from anyshape.program.program import Program
from anyshape.support.version import __version__
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.arguments.specs import trace
from anyshape.transforms.export import load
from anyshape.transforms.grad import value_and_grad

EPILOG = """examples:
  anyshape show examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --grad
  anyshape show examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --html loss.html
  anyshape show loss.anyshape --html loss.html
  anyshape explain examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --sizes 1,8
  anyshape profile examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --sizes n=300,d=64 --html profile.html
  anyshape show anyshape.numpy:tile --shapes "n, 3; =k"
  anyshape check numpy:matmul --shapes "n, k; k, 3" --sizes 0,1,5
"""


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 if a check failed, or 2 for a mistake on the command line."""
    options, rest = _parser().parse_known_args(argv)
    if rest and options.command != "demo":
        return _complain(options.command, f"unrecognized arguments: {' '.join(rest)}")
    try:
        return options.run(options, rest)
    except (UsageError, AnyshapeError) as error:
        return _complain(options.command, one_line(error))
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
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    demo = commands.add_parser("demo", help="train a small language model on paragraphs of any length", add_help=False)
    demo.set_defaults(run=_demo)
    show = commands.add_parser("show", help="print or draw the program of a function")
    _describe(show, required=False)
    show.add_argument("--grad", action="store_true", help="of its value and gradient")
    show.add_argument("--plan", action="store_true", help="print the plan that runs, not the graph")
    show.add_argument("--html", metavar="FILE", help="draw the graph, with what it relies on and costs, as one page")
    show.add_argument("--dot", metavar="FILE", help="draw the graph as Graphviz source (-: print it)")
    show.set_defaults(run=_show)
    explained = commands.add_parser("explain", help="say which programs sizes need, and what each relies on")
    _describe(explained)
    explained.add_argument("--grad", action="store_true", help="of its value and gradient")
    explained.add_argument("--sizes", default="0,1,2,5", help="tried for each unknown size (%(default)s)")
    explained.set_defaults(run=_explain)
    timed = commands.add_parser("profile", help="say where the time of a call goes, step by step")
    _describe(timed)
    timed.add_argument("--grad", action="store_true", help="of its value and gradient")
    timed.add_argument("--sizes", default="1000", help='of a call: "n=200, d=64", or one for all (%(default)s)')
    timed.add_argument("--repeat", type=int, metavar="N", help="calls that are timed (until half a second is filled)")
    timed.add_argument("--seed", type=int, default=0, help="of the random arguments (%(default)s)")
    timed.add_argument("--html", metavar="FILE", help="write the time as nested bars, as one page (-: print it)")
    timed.set_defaults(run=_profile)
    check = commands.add_parser("check", help="compare values and derivatives with NumPy at several sizes")
    _describe(check)
    check.add_argument("--order", type=int, default=2, metavar="N", help="order of derivatives (%(default)s)")
    check.add_argument("--sizes", default="0,1,2,5", help="tried for each unknown size (%(default)s)")
    check.add_argument("--seed", type=int, default=0, help="of the random arguments (%(default)s)")
    check.add_argument("--domain", default="-2,2", help="interval of the random arguments (%(default)s)")
    check.set_defaults(run=_check)
    return parser


def _describe(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options that name a function and describe its arguments."""
    parser.add_argument("target", help="module:function, path/to/file.py:function, or a saved program")
    shapes = 'one for each argument: "n, 4; 4, 3"; names are unknown sizes; "=k" is an integer that is a size itself'
    parser.add_argument("--shapes", required=required, help=shapes)
    parser.add_argument("--dtypes", default="f64", help='one for all or one for each: "f64; i32" (%(default)s)')


def _demo(options: argparse.Namespace, rest: list[str]) -> int:
    return train.main(rest)


def _show(options: argparse.Namespace, rest: list[str]) -> int:
    program = _traced(options)
    drawings = [(options.html, to_html), (options.dot, to_dot)]
    pages = [(path, draw(program)) for path, draw in drawings if path is not None]
    if options.plan or not pages:
        print(program.plan if options.plan else program)
    for path, text in pages:
        write_text(path, text)
    return 0


def _traced(options: argparse.Namespace) -> Program:
    """Return the program of the named function and arguments, or the program of a file."""
    if options.shapes is None and is_saved(options.target) and not options.grad:
        return load(options.target)
    if options.shapes is None:
        raise UsageError(f"{options.target!r} is not a saved program, and a function needs --shapes")
    function, arguments = _described(options)
    try:
        return trace(function)(*arguments.structs)
    except AnyshapeError:
        raise
    except Exception as error:
        raise UsageError(f"{options.target} raised {type(error).__name__}: {one_line(error)}") from error


def _described(options: argparse.Namespace) -> tuple[Callable[..., Any], Arguments]:
    """Return the named function, or its value and gradient, and its arguments."""
    function = load_function(options.target)
    arguments = read_arguments(function, options.shapes, options.dtypes)
    if not options.grad:
        return function, arguments
    moving = tuple(i for i, d in enumerate(arguments.dtypes) if is_inexact(d))
    if not moving:
        raise UsageError("--grad needs an argument of a float dtype; give one in --dtypes")
    return value_and_grad(function, argnums=moving), arguments


def _explain(options: argparse.Namespace, rest: list[str]) -> int:
    print(explain_report(*_described(options), options.sizes, options.target))
    return 0


def _profile(options: argparse.Namespace, rest: list[str]) -> int:
    profile_report(*_described(options), options)
    return 0


def _check(options: argparse.Namespace, rest: list[str]) -> int:
    function = load_function(options.target)
    arguments = read_arguments(function, options.shapes, options.dtypes)
    return check_command.main(function, arguments, options)
