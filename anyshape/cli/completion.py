"""Completion of commands, options and files in shells, by argcomplete."""

from __future__ import annotations

import argparse
import os

from anyshape.support.packages import argcomplete

SHELLS = ("bash", "zsh", "fish")
_ASKED = "_ARGCOMPLETE"  # the variable by which a shell asks for completions


def script(shell: str) -> str:
    """Return what a shell reads at its start to complete the command `anyshape`."""
    text: str = argcomplete.shellcode(["anyshape"], shell=shell)
    return text


def answer(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit, if a shell has asked for them."""
    if _ASKED in os.environ:
        argcomplete.autocomplete(parser)
