"""``python tools/papers``: see :mod:`papers.machinery.command`."""

import os
import sys
from pathlib import Path

# Before NumPy is imported: several processes share the cores, and times are those of one thread.
os.environ.update(dict.fromkeys(("PODIUM_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if __name__ == "__main__":
    from papers.machinery.command import main

    sys.exit(main())
