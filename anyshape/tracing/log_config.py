"""`ANYSHAPE_LOGS=trace,guards,shapes,passes,plan,run`, or `all`: loggers of the standard library, turned on by name.

Read once, at import. Each name is the logger `anyshape.<name>`, which `logging` configures like any other: with the
level DEBUG it tells what happens. Without the variable and without configuration nothing is installed: what is of
level WARNING goes where Python lets it, the rest nowhere.
"""

from __future__ import annotations

import logging
import os
import warnings

NAMES = ("trace", "guards", "shapes", "passes", "plan", "run")
_HANDLER = "ANYSHAPE_LOGS"


def turn_on(text: str) -> list[str]:
    """Let the loggers that a text such as "trace,guards" names write to standard error; the names that it has."""
    given = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in given if name not in (*NAMES, "all")]
    if unknown:
        known = ", ".join((*NAMES, "all"))
        warnings.warn(f"ANYSHAPE_LOGS names {', '.join(map(repr, unknown))}; known are {known}", stacklevel=2)
    names = list(NAMES) if "all" in given else [name for name in NAMES if name in given]
    for name in names:
        logging.getLogger(f"anyshape.{name}").setLevel(logging.DEBUG)
    package = logging.getLogger("anyshape")
    if names and all(handler.get_name() != _HANDLER for handler in package.handlers):
        package.addHandler(_stderr())
    return names


def _stderr() -> logging.Handler:
    """A handler for what no handler of the root logger takes, so that nothing is said twice."""
    handler = logging.StreamHandler()
    handler.set_name(_HANDLER)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    handler.addFilter(lambda record: all(h.level > record.levelno for h in logging.getLogger().handlers))
    return handler


turn_on(os.environ.get(_HANDLER, ""))
