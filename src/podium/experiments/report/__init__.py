"""The report of a comparison: one HTML page that needs nothing but itself."""

from podium.experiments.report.page import page

__all__ = ["page"]
