"""PairTies: pairs that may be tied, under the model of Davidson or of Rao and Kupper."""

from functools import partial

from podium.core.parameters import choice
from podium.losses import DavidsonLoss, Loss, RaoKupperLoss
from podium.rankers.methods import METHODS
from podium.rankers.presets.linear import L2, LinearPreset

__all__ = ["PairTies"]

_LOSSES: dict[str, type[Loss]] = {"davidson": DavidsonLoss, "rao-kupper": RaoKupperLoss}


class PairTies(LinearPreset):
    """Likelihood of every pair of a list, tied ones included, with a learned propensity to tie.

    Rao & Kupper, JASA 1967; Davidson, JASA 1970; for documents: Truyen, Phung & Venkatesh, SDM 2011.

    ``loss_parameters_`` holds what was learned of ties: β (ν = e^β) or α (θ = 1 + e^α).

    Parameters
    ----------
    model : {"davidson", "rao-kupper"}
        How likely a tie is, by the difference of scores.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=50, n_documents=10, n_features=5)
    >>> ranker = podium.PairTies("davidson").fit(queries)
    >>> ranker.score(queries) > 0.8, ranker.loss_parameters_.shape
    (True, (1,))
    """

    model: str = choice(*_LOSSES)

    def _loss(self) -> Loss:
        return _LOSSES[self.model]()


for _model, _authors, _reference in (
    ("davidson", "Davidson", "Davidson, JASA 1970"),
    ("rao-kupper", "Rao and Kupper", "Rao & Kupper, JASA 1967"),
):
    _summary = f"pairs that may be tied, {_authors}'s model"
    METHODS.add(_model, partial(PairTies, model=_model), _summary, _reference, "pairwise", L2)
