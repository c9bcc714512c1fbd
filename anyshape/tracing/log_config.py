"""Turn on loggers by name: `ANYSHAPE_LOGS=trace,guards,shapes,passes,plan,run,progress`, or `all`.

The variable is read once, at import. Each name stands for the logger `anyshape.<name>` of the standard library, which
`logging` configures like any other. Without the variable no handler is installed.
"""

import logging
import os
import warnings

from anyshape.errors import SettingWarning

NAMES = ("trace", "guards", "shapes", "passes", "plan", "run", "progress")
_HANDLER = "ANYSHAPE_LOGS"


def turn_on(text: str) -> list[str]:
    """Make the loggers in a text such as "trace,guards" write to standard error, and return their names."""
    requested = {part.strip() for part in text.split(",")} - {""}
    if unknown := sorted(requested - {*NAMES, "all"}):
        known = ", ".join((*NAMES, "all"))
        text = f"ANYSHAPE_LOGS names {', '.join(map(repr, unknown))}; known are {known}"
        warnings.warn(text, SettingWarning, stacklevel=2)
    names = [name for name in NAMES if not requested.isdisjoint((name, "all"))]
    for name in names:
        logging.getLogger(f"anyshape.{name}").setLevel(logging.DEBUG)
    package = logging.getLogger("anyshape")
    if names and _HANDLER not in [handler.get_name() for handler in package.handlers]:
        package.addHandler(_stderr())
    return names


def _stderr() -> logging.Handler:
    """Return a handler of the records that no handler of the root logger takes, so that no line is written twice."""
    handler = logging.StreamHandler()
    handler.set_name(_HANDLER)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    handler.addFilter(lambda record: all(h.level > record.levelno for h in logging.getLogger().handlers))
    return handler


for name in (
    "shapes",
    "passes",
    "plan",
    "run",
):  # a line for each operation or call
    if logging.getLogger(f"anyshape.{name}").level == logging.NOTSET:
        logging.getLogger(f"anyshape.{name}").setLevel(logging.INFO)
turn_on(os.environ.get(_HANDLER, ""))
