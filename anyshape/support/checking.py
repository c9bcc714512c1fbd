"""Setting by which the library verifies its own work, as tests ask for."""

import os


def checks_enabled() -> bool:
    """Return whether ANYSHAPE_CHECK=1 asks for graphs to be verified after each pass, and metadata after each step.

    Errors of searches, which else leave their questions open, are raised then.
    """
    return os.environ.get("ANYSHAPE_CHECK", "") not in ("", "0")
