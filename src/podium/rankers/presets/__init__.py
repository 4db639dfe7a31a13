"""Rankers that are named methods: a loss, a scorer and a trainer, with what a comparison searches."""
# ruff: noqa: F401

from podium.rankers.presets import (
    adarank,
    boltzrank,
    boosted,
    coordinate_ascent,
    feature_boosting,
    floors,
    lambdarank,
    linear,
    listmle,
    listnet,
    pairties,
    pmop,
    prank,
    random_forest,
    rankboost,
    restarted,
    softrank,
    stepped,
    stochasticrank,
    structrank,
    yetirank,
)
