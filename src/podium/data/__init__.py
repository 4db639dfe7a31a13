"""Lists of documents: reading, writing, making, dividing and rescaling them."""

from podium.data.io.formats import read_queries, write_queries
from podium.data.io.judgments import join_judgments
from podium.data.io.letor.reader import read_letor
from podium.data.io.letor.writer import write_letor
from podium.data.io.logged import read_logged
from podium.data.io.tables import read_table, write_table
from podium.data.io.trec import read_qrels, read_run, write_run
from podium.data.preferences import Preferences
from podium.data.queries import Queries
from podium.data.splits import k_folds, train_test_split
from podium.data.synthetic import make_queries

__all__ = [
    "Preferences",
    "Queries",
    "join_judgments",
    "k_folds",
    "make_queries",
    "read_letor",
    "read_logged",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_table",
    "train_test_split",
    "write_letor",
    "write_queries",
    "write_run",
    "write_table",
]
