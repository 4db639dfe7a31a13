"""One module per format that a model can be exported to; each registers its target when it is imported."""
# ruff: noqa: F401

from podium.export.targets import (
    lightgbm,
    onnx,
    opensearch,
    solr,
    sql,
    vespa,
    xgboost,
)
