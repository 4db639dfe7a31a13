"""The built-in families of metrics. Importing a module registers what it declares."""
# ruff: noqa: F401

from podium.metrics.families import (
    average_precision,
    bpref,
    correlation,
    dcg,
    err,
    precision,
    rank_biased_precision,
    reciprocal_rank,
)
