"""Models in the formats of search engines and other libraries: ``podium.export(model, path, format="solr")``."""

from podium.export.api import export, export_formats, export_refusals
from podium.export.check import ExportCheck, PairOfDocuments, check_export
from podium.export.portable import Layer, Linear, Network, NotExportable, Portable, Trees, portable

__all__ = [
    "ExportCheck",
    "Layer",
    "Linear",
    "Network",
    "NotExportable",
    "PairOfDocuments",
    "Portable",
    "Trees",
    "check_export",
    "export",
    "export_formats",
    "export_refusals",
    "portable",
]
