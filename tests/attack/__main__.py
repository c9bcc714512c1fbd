"""Attack the library with random programs, decisions, states, files, threads and pickles.

    python -m tests.attack [--seed 0] [--minutes 10] [--only values,derivatives,...]
    python -m tests.attack --repeat values:123456

Prints what was tried and each finding. The exit status is 1 if there is one.
"""

import argparse
import logging
import sys

from tests.attack.attacks import ATTACKS
from tests.attack.kit import repeat, run


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other programs")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for all attacks together")
    parser.add_argument("--only", default=",".join(ATTACKS), help=f"some of {', '.join(ATTACKS)}")
    parser.add_argument("--repeat", metavar="ATTACK:SEED", help="run one try again")
    options = parser.parse_args(arguments)
    names = (options.repeat.partition(":")[0] if options.repeat else options.only).split(",")
    unknown = [name for name in names if name not in ATTACKS]
    if unknown:
        parser.error(f"there is no attack {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    if options.repeat:
        print(repeat(ATTACKS[names[0]], int(options.repeat.partition(":")[2])))
        return 0
    package = logging.getLogger("anyshape")
    level = package.level
    package.setLevel(logging.ERROR)  # programs ask for sizes on purpose
    try:
        report = run([ATTACKS[name] for name in names], options.seed, 60 * options.minutes)
    finally:
        package.setLevel(level)
    print("\n".join(report.lines()))
    return bool(report.findings)


if __name__ == "__main__":
    sys.exit(main())
