"""python -m anyshape."""

import sys

from anyshape.frontend.cli import main

sys.exit(main())
