"""``python -m podium``."""

import sys

from podium.cli.main import main

if __name__ == "__main__":  # worker processes import this file too
    sys.exit(main())
