"""python -m anyshape."""

import sys

from anyshape.cli.main import main

sys.exit(main())
