"""`anyshape export` and `run`: programs in files, and their runs on arrays in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anyshape.cli.load_target import Arguments, UsageError, is_saved, one_line
from anyshape.errors import AnyshapeError
from anyshape.program.program import Program
from anyshape.tracing.pytrees import flatten, result_paths
from anyshape.transforms.export import export, load


def save_program(function: Callable[..., Any], arguments: Arguments, path: str, target: str) -> Program:
    """Export the function for all sizes of the arguments, write the program to a file, and return it."""
    try:
        program = export(function)(*arguments.structs)
        program.save(path)
    except AnyshapeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror or error}") from error
    except Exception as error:
        raise UsageError(f"{target} raised {type(error).__name__}: {one_line(error)}") from error
    return program


def run_program(target: str, files: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the results of a saved program by path, for arguments in files: each in a .npy, or all in one .npz."""
    if not is_saved(target):
        raise UsageError(f"{target!r} is not a saved program; write one with anyshape export")
    program = load(target)
    result = program(*_arguments(program, files))
    leaves, structure = flatten(result)
    return {path: np.asarray(x) for path, x in zip(result_paths(structure), leaves, strict=True)}


def _arguments(program: Program, files: Sequence[str]) -> list[np.ndarray]:
    """Return the arrays of the files. In a .npz they are named by the parameters of the program."""
    arrays: list[np.ndarray] = []
    named: dict[str, np.ndarray] = {}
    for file in files:
        content = _read(file)
        if isinstance(content, dict):
            named |= content
        else:
            arrays.append(content)
    names = list(program.__signature__.parameters)[len(arrays) :]
    missing = [name for name in names if name not in named]
    surplus = [name for name in named if name not in names]
    if missing or surplus:
        taken = ", ".join(program.__signature__.parameters)
        problem = f"do not give {missing[0]}" if missing else f"give {surplus[0]!r} besides"
        raise UsageError(f"the files {problem}; {program.name} takes {taken}")
    return [*arrays, *[named[name] for name in names]]


def _read(file: str) -> Any:
    """Return the array of a .npy file, or the arrays of a .npz file by name. Nothing in it is executed."""
    try:
        content = np.load(Path(file), allow_pickle=False)
        return dict(content) if isinstance(content, np.lib.npyio.NpzFile) else content
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"cannot read {file!r} as .npy or .npz: {one_line(error)}") from error


def results_text(results: dict[str, np.ndarray]) -> str:
    """Return the results as text: dtype and shape of each, and its values as NumPy prints them."""
    return "\n".join([f"{path}: {x.dtype}{list(x.shape)}\n{x}" for path, x in results.items()])


def save_results(results: dict[str, np.ndarray], path: str) -> None:
    """Write the results to a .npy file if there is one, else to a .npz file by their paths."""
    try:
        if path.endswith(".npy"):
            if len(results) != 1:
                raise UsageError(f"{path!r} holds one array, and there are {len(results)} results; name a .npz file")
            np.save(path, next(iter(results.values())))
        else:
            np.savez(path, **results)  # type: ignore[arg-type]
    except OSError as error:
        raise UsageError(f"cannot write {path!r}: {error.strerror or error}") from error


def described(program: Program) -> dict[str, Any]:
    """Return the arguments, results and text of a program, as JSON holds them."""
    sides = {"inputs": program.inputs, "outputs": program.outputs}
    shown = {
        side: {path: {"shape": [str(s) for s in x.shape], "dtype": str(x.dtype)} for path, x in structs.items()}
        for side, structs in sides.items()
    }
    return {"name": program.name, **shown, "text": str(program).splitlines()}
