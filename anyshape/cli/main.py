"""Command line: anyshape demo | show | explain | profile | check | export | run | completion."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from anyshape.cli import check_command, completion, program_commands
from anyshape.cli.explain_command import explain_report
from anyshape.cli.load_target import (
    Arguments,
    UsageError,
    arguments_of,
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
from anyshape.program.program import Program
from anyshape.support.packages import demo_cluster
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
  anyshape export examples/attention.py:loss --shapes "n, d; d, 3*d; n, d" --out loss.anyshape
  anyshape run loss.anyshape arguments.npz --out results.npz
  anyshape completion bash >> ~/.bashrc
  anyshape check numpy:matmul --shapes "n, k; k, 3" --sizes 0,1,5
"""


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 if a check failed, or 2 for a mistake on the command line."""
    parser = _parser()
    completion.answer(parser)
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
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser(
        "demo",
        help="train a small language model on paragraphs of any length (demo cluster: a fit on workers)",
        add_help=False,
    )
    demo.set_defaults(run=_demo)
    show = commands.add_parser("show", help="print or draw the program of a function")
    _describe(show)
    show.add_argument("--grad", action="store_true", help="of its value and gradient")
    show.add_argument("--plan", action="store_true", help="print the plan that runs, not the graph")
    show.add_argument("--html", metavar="FILE", help="draw the graph, with what it relies on and costs, as one page")
    show.add_argument("--beside", metavar="TARGET", help="with --html: compare with this function or saved program")
    show.add_argument("--dot", metavar="FILE", help="draw the graph as Graphviz source (-: print it)")
    _add_json(show)
    show.set_defaults(run=_show)
    explained = commands.add_parser("explain", help="say which programs sizes need, and what each relies on")
    _describe(explained)
    explained.add_argument("--grad", action="store_true", help="of its value and gradient")
    explained.add_argument("--html", metavar="FILE", help="write it as one page (-: print it)")
    explained.add_argument("--sizes", default="0,1,2,5", help="tried for each unknown size (%(default)s)")
    _add_json(explained)
    explained.set_defaults(run=_explain)
    _add_measurements(commands)
    _add_files(commands)
    return parser


def _add_measurements(commands: Any) -> None:
    """Add the commands that run a function."""
    timed = commands.add_parser("profile", help="say where the time of a call goes, step by step")
    _describe(timed)
    timed.add_argument("--grad", action="store_true", help="of its value and gradient")
    timed.add_argument("--sizes", default="1000", help='of a call: "n=200, d=64", or one for all (%(default)s)')
    timed.add_argument("--repeat", type=int, metavar="N", help="calls that are timed (until half a second is filled)")
    timed.add_argument("--seed", type=int, default=0, help="of the random arguments (%(default)s)")
    timed.add_argument("--html", metavar="FILE", help="write the time as nested bars, as one page (-: print it)")
    _add_json(timed)
    timed.set_defaults(run=_profile)
    check = commands.add_parser("check", help="compare values and derivatives with NumPy at several sizes")
    _describe(check)
    check.add_argument("--order", type=int, default=2, metavar="N", help="order of derivatives (%(default)s)")
    check.add_argument("--sizes", default="0,1,2,5", help="tried for each unknown size (%(default)s)")
    check.add_argument("--seed", type=int, default=0, help="of the random arguments (%(default)s)")
    check.add_argument("--domain", default="-2,2", help="interval of the random arguments (%(default)s)")
    _add_json(check)
    check.set_defaults(run=_check)


def _add_files(commands: Any) -> None:
    """Add the commands for programs in files."""
    exported = commands.add_parser("export", help="write the program of a function to a file, for any process")
    _describe(exported)
    exported.add_argument("--grad", action="store_true", help="of its value and gradient")
    exported.add_argument("-o", "--out", required=True, metavar="FILE", help="file of the program")
    _add_json(exported)
    exported.set_defaults(run=_export)
    ran = commands.add_parser("run", help="run a saved program on arrays in files")
    ran.add_argument("target", help="a saved program")
    ran.add_argument("files", nargs="*", help="a .npy for each argument, or a .npz with their names")
    ran.add_argument("-o", "--out", metavar="FILE", help="write the results to a .npy or .npz (else they are printed)")
    _add_json(ran)
    ran.set_defaults(run=_run)
    completed = commands.add_parser("completion", help="print the script by which a shell completes this command")
    completed.add_argument("shell", choices=completion.SHELLS)
    completed.set_defaults(run=_completion)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, default=str))


def _describe(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a function and describe its arguments."""
    parser.add_argument("target", help="module:function, path/to/file.py:function, or a saved program")
    shapes = 'one for each argument: "n, 4; 4, 3"; names are unknown sizes; "=k" is an integer that is a size itself'
    parser.add_argument("--shapes", help=shapes)
    parser.add_argument("--dtypes", default="f64", help='one for all or one for each: "f64; i32" (%(default)s)')


def _demo(options: argparse.Namespace, rest: list[str]) -> int:
    return demo_cluster.main(rest[1:]) if rest[:1] == ["cluster"] else train.main(rest)


def _show(options: argparse.Namespace, rest: list[str]) -> int:
    if options.beside is not None and options.html is None:
        raise UsageError("--beside needs --html FILE, where the page that compares goes")
    program = _traced(options)
    other = None if options.beside is None else _traced(_at(options, options.beside))
    drawings = [(options.html, lambda p: p.html(beside=other)), (options.dot, to_dot)]
    pages = [(path, draw(program)) for path, draw in drawings if path is not None]
    if options.json:
        _print_json(program_commands.described(program))
    elif options.plan or not pages:
        print(program.plan if options.plan else program)
    for path, text in pages:
        write_text(path, text)
    return 0


def _at(options: argparse.Namespace, target: str) -> argparse.Namespace:
    """Return the options for another target."""
    return argparse.Namespace(**{**vars(options), "target": target})


def _traced(options: argparse.Namespace) -> Program:
    """Return the program of the named function and arguments, or the program of a file."""
    if options.shapes is None and is_saved(options.target) and not options.grad:
        return load(options.target)
    function, arguments = _described(options)
    try:
        return trace(function)(*arguments.structs)
    except AnyshapeError:
        raise
    except Exception as error:
        raise UsageError(f"{options.target} raised {type(error).__name__}: {one_line(error)}") from error


def _loaded(options: argparse.Namespace) -> tuple[Callable[..., Any], Arguments]:
    """Return the named function with the arguments that --shapes describes, which a saved program has itself."""
    function = load_function(options.target)
    if options.shapes is not None:
        return function, read_arguments(function, options.shapes, options.dtypes)
    if not isinstance(function, Program):
        raise UsageError(f'{options.target} needs --shapes, one for each argument, as in --shapes "n, 4; 4"')
    return function, arguments_of(function)


def _described(options: argparse.Namespace) -> tuple[Callable[..., Any], Arguments]:
    """Return the named function, or its value and gradient, and its arguments."""
    function, arguments = _loaded(options)
    if not options.grad:
        return function, arguments
    moving = tuple(i for i, d in enumerate(arguments.dtypes) if is_inexact(d))
    if not moving:
        raise UsageError("--grad needs an argument of a float dtype; give one in --dtypes")
    return value_and_grad(function, argnums=moving), arguments


def _explain(options: argparse.Namespace, rest: list[str]) -> int:
    report = explain_report(*_described(options), options.sizes, options.target)
    if options.html is not None:
        write_text(options.html, report.explanation.html())
    if options.json:
        _print_json(report.to_dict())
    elif options.html is None:
        print(report)
    return 0


def _profile(options: argparse.Namespace, rest: list[str]) -> int:
    result = profile_report(*_described(options), options)
    if options.json:
        _print_json(result.to_dict())
    return 0


def _export(options: argparse.Namespace, rest: list[str]) -> int:
    program = program_commands.save_program(*_described(options), options.out, options.target)
    if options.json:
        _print_json(program_commands.described(program))
    return 0


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    results = program_commands.run_program(options.target, options.files)
    if options.out is not None:
        program_commands.save_results(results, options.out)
    if options.json:
        _print_json({path: x.tolist() for path, x in results.items()})
    elif options.out is None:
        print(program_commands.results_text(results))
    return 0


def _completion(options: argparse.Namespace, rest: list[str]) -> int:
    print(completion.script(options.shell))
    return 0


def _check(options: argparse.Namespace, rest: list[str]) -> int:
    return check_command.main(*_loaded(options), options)
