"""Synthetic search results of a shop: queries in words, products with titles, features with names, graded judgments."""

from dataclasses import dataclass

import numpy as np

from podium.core.random_state import RandomState, as_generator
from podium.data.queries import Queries

__all__ = ["make_search_results"]

SHELVES = (
    ("boots", "sandals", "loafers", "slippers"),
    ("desk", "bookcase", "armchair", "bench"),
    ("backpack", "satchel", "wallet", "suitcase"),
    ("lantern", "ceiling light", "desk lamp", "candlestick"),
    ("teapot", "salad bowl", "bread bin", "spice rack"),
)
"""What the shop sells. Things on one shelf are near misses for each other."""
COLORS = ("black", "white", "red", "navy", "green", "sand", "gray", "amber")
MATERIALS = ("oak", "leather", "steel", "linen", "cork", "walnut", "canvas", "enamel")
STYLES = ("classic", "folding", "handmade", "compact", "vintage", "everyday", "travel", "studio")
MAKERS = ("Norlund", "Aske & Co", "Tamarack", "Bellwood", "Orsa", "Pinefield", "Quill", "Vesterby", "Harrow", "Lumen")
GRADES = (0.5, 0.25, 0.15, 0.1)
"""Shares of irrelevant, related, good and perfect products: most are tied with many others."""
ANY = -1
"""What a query asks for if it does not name a color or a material."""
FEATURES = (
    "title_bm25",
    "words_matched",
    "description_bm25",
    "embedding_similarity",
    "same_shelf",
    "rating",
    "reviews",
    "sales_30d",
    "clicks_30d",
    "click_rate",
    "price",
    "discount",
    "age_days",
    "in_stock",
    "title_length",
)


def make_search_results(
    n_queries: int = 100, n_documents: int = 20, random_state: RandomState = 0, *, noise: float = 0.5
) -> Queries:
    """Make judged search results of an invented shop, which read like a search log.

    A query asks for a thing, often of a color or a material: ``"red leather boots"``. Its results are products that
    share some of these. A judge looks for the right thing first, then for color and material, then, among right
    things, for what sells and is in stock, and gives a grade from 0 (irrelevant) to 3 (perfect). Features are what a
    shop logs: matches of words, a noisy similarity, counts with heavy tails, prices, and some that say nothing. Query
    ids are the words, and document ids the titles.

    Parameters
    ----------
    n_queries : int
        At most 1,620, the number of different queries that there are.
    n_documents : int
        Mean number of results per query; their numbers range from half of it to one and a half of it.
    random_state : int, numpy.random.Generator or None
        The same number gives the same results.
    noise : float
        Standard deviation of what judges disagree on, where the right thing instead of a wrong one counts 1.6.

    Returns
    -------
    Queries
        With words, titles and names of features.

    Examples
    --------
    >>> results = make_search_results(n_queries=3, n_documents=10, random_state=1)
    >>> results.qids.tolist()
    ['white wallet', 'navy satchel', 'enamel candlestick']
    >>> str(results.document_ids[0]), results.feature_names[:2]
    ('Bellwood travel wallet 108, white leather', ('title_bm25', 'words_matched'))
    """
    things = sum(map(len, SHELVES))
    if not 1 <= n_queries <= things * (len(COLORS) + 1) * (len(MATERIALS) + 1):
        raise ValueError(f"n_queries must be from 1 to the 1,620 different queries that there are; got {n_queries!r}")
    if n_documents < 1:
        raise ValueError(f"n_documents must be at least 1; got {n_documents!r}")
    rng = as_generator(random_state)
    asked = _queries(n_queries, rng)
    half = n_documents // 2
    sizes = rng.integers(n_documents - half, n_documents + half + 1, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    wanted = asked.take(query)
    found = _products(wanted, rng)
    titles = _titles(found, 100 + rng.permutation(len(query)))
    liked = rng.standard_normal(len(query))
    in_stock = rng.random(len(query)) < 0.85
    right = found.thing == wanted.thing
    relevance = _match(wanted, found) + right * (0.6 * liked - 1.6 * ~in_stock)
    hidden = relevance + noise * rng.standard_normal(len(query))
    grades = np.searchsorted(np.quantile(hidden, np.cumsum(GRADES)[:-1]), hidden, side="left")
    queries = Queries(
        _features(wanted, found, liked, in_stock, titles, rng),
        grades,
        sizes=sizes,
        document_ids=titles,
        feature_names=FEATURES,
    )
    queries.qids = _words(asked)
    return queries


@dataclass(frozen=True)
class _Things:
    """Things of a color and a material, each an array of numbers into the lists of words."""

    thing: np.ndarray
    color: np.ndarray
    material: np.ndarray
    style: np.ndarray
    maker: np.ndarray

    def take(self, rows: np.ndarray) -> "_Things":
        return _Things(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _queries(n: int, rng: np.random.Generator) -> _Things:
    """Return different queries; a color or a material that is not asked for is ``ANY``."""
    shape = (sum(map(len, SHELVES)), len(COLORS) + 1, len(MATERIALS) + 1)
    drawn = rng.choice(np.prod(shape), n, replace=False)
    thing, color, material = np.unravel_index(drawn, shape)
    nothing = np.full(n, ANY)
    return _Things(thing, color - 1, material - 1, nothing, nothing)


def _products(wanted: _Things, rng: np.random.Generator) -> _Things:
    """Return a product for each row: often the thing that is wanted, or one from its shelf, in any color."""
    n, per_shelf = len(wanted.thing), len(SHELVES[0])
    near = wanted.thing // per_shelf * per_shelf + rng.integers(per_shelf, size=n)
    thing = np.choose(
        rng.choice(3, n, p=[0.55, 0.3, 0.15]), [wanted.thing, near, rng.integers(per_shelf * len(SHELVES), size=n)]
    )

    def like(asked: np.ndarray, words: tuple[str, ...]) -> np.ndarray:
        any_word = rng.integers(len(words), size=n)
        return np.where((asked != ANY) & (rng.random(n) < 0.4), asked, any_word)

    return _Things(
        thing,
        like(wanted.color, COLORS),
        like(wanted.material, MATERIALS),
        rng.integers(len(STYLES), size=n),
        rng.integers(len(MAKERS), size=n),
    )


def _match(wanted: _Things, found: _Things) -> np.ndarray:
    """Return how well products fit their queries."""
    per_shelf = len(SHELVES[0])
    thing = 1.6 * (found.thing == wanted.thing) + 0.4 * (found.thing // per_shelf == wanted.thing // per_shelf)
    return thing + 0.8 * (found.color == wanted.color) + 0.8 * (found.material == wanted.material)


def _features(
    wanted: _Things,
    found: _Things,
    liked: np.ndarray,
    in_stock: np.ndarray,
    titles: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the columns that ``FEATURES`` names."""
    n, per_shelf = len(liked), len(SHELVES[0])

    def noise(deviation: float) -> np.ndarray:
        return deviation * rng.standard_normal(n)

    hits = np.column_stack(
        [found.thing == wanted.thing, found.color == wanted.color, found.material == wanted.material]
    )
    n_words = 1 + (wanted.color != ANY) + (wanted.material != ANY)
    title_length = 1 + np.char.count(titles, " ")
    rarity = np.log([20.0, 8.0, 8.0])  # how rare a word is: one thing in twenty, one color in eight
    bm25 = (hits @ rarity) * 2.2 / (0.7 + 0.3 * title_length / 6)
    fit = _match(wanted, found)
    sales = np.floor(np.exp(1.5 + 1.2 * liked + noise(0.8)))
    clicks = np.floor(sales * np.exp(2.0 + 0.2 * fit + noise(0.5)))
    columns = (
        bm25,
        hits.sum(axis=1) / n_words,
        np.maximum(0, bm25 * 0.6 + noise(1.5)),
        np.tanh(0.35 * fit + noise(0.25)),
        found.thing // per_shelf == wanted.thing // per_shelf,
        np.round(np.clip(3.9 + 0.4 * liked + noise(0.4), 1, 5), 1),
        np.floor(sales * np.exp(noise(1.0))),
        sales,
        clicks,
        (clicks + 1) / (clicks + 20 * np.exp(1 + noise(0.4)) + 1),
        np.round(np.exp(3.5 + noise(0.9)), 2),
        np.maximum(0, np.round(noise(15.0), -1)),
        np.floor(rng.exponential(200.0, n)),
        in_stock,
        title_length,
    )
    return np.column_stack(columns).astype(np.float32)


def _titles(found: _Things, number: np.ndarray) -> np.ndarray:
    """Return titles such as ``Norlund folding desk 482, white oak``; the number makes them different."""
    maker, style = np.array(MAKERS)[found.maker], np.array(STYLES)[found.style]
    color, material = np.array(COLORS)[found.color], np.array(MATERIALS)[found.material]
    thing = np.array([thing for shelf in SHELVES for thing in shelf])[found.thing]
    title = maker
    for separator, word in ((" ", style), (" ", thing), (" ", number.astype(str)), (", ", color), (" ", material)):
        title = np.char.add(np.char.add(title, separator), word)
    return title


def _words(asked: _Things) -> np.ndarray:
    """Return queries such as ``white oak desk``; what is not asked for is left out."""
    things = np.array([thing for shelf in SHELVES for thing in shelf])[asked.thing]
    color, material = np.array([*COLORS, ""])[asked.color], np.array([*MATERIALS, ""])[asked.material]
    words = np.char.add(np.char.add(color, " "), np.char.add(np.char.add(material, " "), things))
    return np.array([" ".join(text.split()) for text in words.tolist()])
