"""``python tools/papers``: see :mod:`papers.machinery.command`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from papers.machinery.command import main

if __name__ == "__main__":
    sys.exit(main())
