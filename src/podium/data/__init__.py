"""Lists of documents: reading, writing, making, dividing and rescaling them."""

from podium.core.rooms import public_names
from podium.data.clicks import *
from podium.data.io.clicks import *
from podium.data.io.formats import *
from podium.data.io.judgments import *
from podium.data.io.letor.reader import *
from podium.data.io.letor.writer import *
from podium.data.io.logged import *
from podium.data.io.tables import *
from podium.data.io.trec import *
from podium.data.preferences import *
from podium.data.queries import *
from podium.data.search_results import *
from podium.data.splits import *
from podium.data.synthetic import *

__all__ = public_names(__name__)
