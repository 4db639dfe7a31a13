"""The papers' experiments: ``make papers``. One module or folder per paper, and what they share in ``machinery``."""
