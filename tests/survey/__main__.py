"""Write `docs/functions.md`, or check it: `python -m tests.survey [--check] [MODULE ...]`."""

import argparse
import logging
import sys
from pathlib import Path

from tests.survey import page

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def main(arguments=None):
    """Write the page, or return 1 if it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    options = parser.parse_args(arguments)
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    text = page.write()
    if not options.check:
        PAGE.write_text(text)
        return 0
    lines = set(PAGE.read_text().splitlines())
    changed = [line for line in text.splitlines() if line not in lines]
    print("\n".join(changed))
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
