"""Models in the formats of search engines and other libraries: ``podium.export(model, path, format="solr")``."""

from podium.export.api import export, export_formats, export_refusals
from podium.export.portable import Layer, Linear, Network, NotExportable, Portable, Trees, portable

__all__ = [
    "Layer",
    "Linear",
    "Network",
    "NotExportable",
    "Portable",
    "Trees",
    "export",
    "export_formats",
    "export_refusals",
    "portable",
]
