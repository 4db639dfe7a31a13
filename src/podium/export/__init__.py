"""Models in the formats of search engines and other libraries: ``podium.export(model, path, format="solr")``."""

from podium.core.rooms import public_names
from podium.export.api import *
from podium.export.check import *
from podium.export.portable import *

__all__ = public_names(__name__)
