"""What places do to clicks: the base class of its estimates, which learning and judging meet, and their file."""

import json
import logging
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from podium.clicks.attraction import Attraction, compared_within
from podium.clicks.cells import Cells
from podium.core.atomic import atomic_write
from podium.core.parameters import Parameterized, count, number, require_number
from podium.core.registry import registered
from podium.core.showing.plots import axes
from podium.data.bias import WeightlessError
from podium.data.clicks import Clicks

__all__ = ["Bias", "load_bias"]

_FORMAT = "podium-bias"


class Bias(Parameterized):
    """What places do to clicks, estimated from a log.

    Parameters
    ----------
    bootstrap : int
        Samples of queries for the intervals of the propensities; 0: no intervals.
    confidence : float
        Share of samples inside the intervals.
    random_state : int
        Seed of the samples.

    Attributes
    ----------
    propensities_ : (n_places,) array
        How likely each place is looked at, compared with the first, which has 1.
    intervals_ : (n_places, 2) array or None
        Bounds of the propensities by a bootstrap of queries.
    alpha_, beta_ : (n_places,) arrays or None
        A document of attractiveness γ is clicked with probability α γ + β; None if a place alone does not tell, as
        where users read from the top.
    attractiveness_ : (n_documents,) array
        Of the documents of the log that it was fitted to, in the order of ``clicks.queries``.

    Examples
    --------
    >>> import podium
    >>> issubclass(podium.clicks.PositionBias, podium.clicks.Bias)
    True
    """

    bootstrap: int = count(100, at_least=0)
    confidence: float = number(0.95, above=0, below=1)
    random_state: int = count(0, at_least=0)

    propensities_: np.ndarray
    intervals_: np.ndarray | None
    alpha_: np.ndarray | None
    beta_: np.ndarray | None
    attractiveness_: np.ndarray

    _stored: ClassVar[tuple[str, ...]] = ("propensities_", "intervals_", "alpha_", "beta_")
    """Fitted arrays that the file has."""
    _optional: ClassVar[tuple[str, ...]] = ()
    """Fitted arrays that it has if they are not None."""

    def fit(self, clicks: Clicks) -> Self:
        """Estimate the bias from a log.

        Parameters
        ----------
        clicks : Clicks
            The log.

        Returns
        -------
        Bias
            Itself, with the attributes that end in an underscore.
        """
        raise NotImplementedError

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        """Return how likely each document is clicked if it is looked at.

        Click rates, corrected for the places, and shrunk to a regression on features: the fewer looks, the more.

        Parameters
        ----------
        clicks : Clicks
            A log, not necessarily the one that the bias was estimated from.

        Returns
        -------
        numpy.ndarray
            One number from 0 to 1 for each row of ``clicks.queries``.
        """
        alpha, beta = self._of_places(clicks)
        cells = Cells.of(clicks)
        unbiased = cells.by_document(cells.clicks - cells.impressions * beta[cells.place])
        looks = cells.by_document(cells.impressions * alpha[cells.place])
        features = compared_within(clicks.queries)
        prior = Attraction.fit(features, unbiased, looks)
        return prior.shrunk(unbiased, looks, prior.means(features))

    def weights(self, clicks: Clicks, *, largest: float = 100.0) -> np.ndarray:
        """Return the clicks of each document, each weighted with the inverse of its place's propensity.

        Their means are the documents' attractiveness times their impressions, if no weight is clipped. With trust bias
        they may be negative.

        Parameters
        ----------
        clicks : Clicks
            A log.
        largest : float
            Where 1/α is larger, it is clipped to this, which trades bias for variance. If a click is concerned, the
            logger ``podium`` says what share of the clicks is.

        Returns
        -------
        numpy.ndarray
            Σ (c − β) / α over the impressions of each row of ``clicks.queries``.
        """
        require_number("largest", largest, above=0)
        alpha, beta = self._of_places(clicks)
        cells = Cells.of(clicks)
        inverse = 1 / np.maximum(alpha, 1e-300)
        clipped = cells.clicks[inverse[cells.place] > largest].sum()
        if clipped:
            logging.getLogger("podium").warning(
                "podium: %.2g %% of the clicks are at places whose weight 1/α is above %g, and clipped to that",
                100 * clipped / cells.clicks.sum(),
                largest,
            )
        weight = np.minimum(inverse, largest)[cells.place]
        return cells.by_document((cells.clicks - cells.impressions * beta[cells.place]) * weight)

    def plot(self, ax: Any = None) -> Any:
        """Draw the propensities of places, with their intervals, with Matplotlib; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            With the curve.
        """
        self._require_fitted()
        ax = axes(ax)
        places = np.arange(1, len(self.propensities_) + 1)
        ax.plot(places, self.propensities_, marker="o")
        if self.intervals_ is not None:
            ax.fill_between(places, *self.intervals_.T, alpha=0.25)
        ax.set(xlabel="place", ylabel="propensity", ylim=(0, None))
        return ax

    def save(self, path: str | Path) -> None:
        """Write the fitted bias to a JSON file, from which :func:`podium.clicks.load_bias` reads it.

        Parameters
        ----------
        path : path
            The file, which is written completely or not at all. The attractiveness of documents is not in it: it
            belongs to a log, for which :meth:`attractiveness` tells it.
        """
        self._require_fitted()
        fitted = {name: _plain(getattr(self, name)) for name in self._stored}
        fitted |= {name: _plain(value) for name in self._optional if (value := getattr(self, name)) is not None}
        content = {
            "format": _FORMAT,
            "version": 1,
            "class": type(self).__name__,
            "parameters": self.get_params(),
            "fitted": fitted,
        }
        with atomic_write(path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False) + "\n")

    def _of_places(self, clicks: Clicks) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β; raise if there are none, or none for some place of the log."""
        self._require_fitted()
        if self.alpha_ is None or self.beta_ is None:
            raise WeightlessError(
                f"{type(self).__name__} says no probability of being seen that depends on the place alone, so clicks "
                "have no inverse propensity weights; use its attractiveness, or a position-based bias"
            )
        if clicks.n_places > len(self.alpha_):
            raise ValueError(
                f"the log has {clicks.n_places} places, but the bias was fitted to a log with {len(self.alpha_)}"
            )
        return self.alpha_, self.beta_

    def _require_fitted(self) -> None:
        if not hasattr(self, "propensities_"):
            raise ValueError(f"this {type(self).__name__} is not fitted; call fit(clicks) first")


def load_bias(path: str | Path) -> Bias:
    """Read a bias that was saved.

    Parameters
    ----------
    path : path
        The file that :meth:`podium.clicks.Bias.save` wrote.

    Returns
    -------
    Bias
        Of the class that was saved, fitted.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> queries = podium.make_queries(n_queries=20, n_documents=10)
    >>> c = podium.clicks.simulate(queries, queries.labels, top=4, sessions=20_000, aggregate=True)
    >>> path = Path(tempfile.mkdtemp(), "bias.json")
    >>> b = podium.clicks.PositionBias(bootstrap=0).fit(c)
    >>> b.save(path)
    >>> bool((podium.clicks.load_bias(path).propensities_ == b.propensities_).all())
    True
    """
    try:
        content = json.loads(Path(path).read_bytes())
        if content["format"] != _FORMAT or content["version"] != 1:
            raise ValueError("unknown format")
        kind = registered(content["class"])
        if kind is None or not issubclass(kind, Bias):
            raise ValueError(f"no bias is called {content['class']!r}")
        bias = kind(**content["parameters"])
        bias.check_parameters()
        for name in kind._stored:
            setattr(bias, name, _as_array(name, content["fitted"][name]))
        for name in kind._optional:
            setattr(bias, name, _as_array(name, content["fitted"].get(name)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a bias that Podium saved: {type(error).__name__}: {error}") from None
    return bias


def _plain(value: Any) -> Any:
    return None if value is None else np.asarray(value).tolist()


def _as_array(name: str, value: Any) -> np.ndarray | None:
    if value is None:
        return None
    array = np.asarray(value, float)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite")
    return array
