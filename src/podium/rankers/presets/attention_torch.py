"""Self-attention over the documents of a list, on any loss. Needs the extra ``torch``."""

from dataclasses import replace

from podium.core.random_state import seed_of
from podium.losses import ListNetLoss, Loss
from podium.rankers.estimator import BaseRanker
from podium.rankers.methods import METHODS
from podium.rankers.spaces import Choice, LogUniform
from podium.scorers.attention_torch import Attention
from podium.scorers.linear.scorer import Linear
from podium.training import Fit, Problem, Stochastic, Trainer

__all__ = ["AttentionRanker"]


class FromLine(Stochastic):
    """Stochastic steps that start from a linear model of the same loss, unless there is a model to go on from.

    From a few dozen lists, little more can be learned than a linear model: this way nothing less is. That model takes
    hardly any time beside a network's.
    """

    def fit(self, problem: Problem) -> Fit:
        if problem.init is not None:
            return super().fit(problem)
        fit = LINE.fit(replace(problem, scorer=Linear(l2=1e-2), validation=None, callback=None, verbose=0))
        problem = replace(problem, init=fit.model)
        if fit.convergence.interrupted:
            return replace(fit, model=problem.start_model(problem.rng))
        return super().fit(problem)


LINE = Stochastic(epochs=50, learning_rate=0.01)


class AttentionRanker(BaseRanker):
    """Context-aware ranking: a document's score depends on the others of its list, by self-attention.

    Training starts from a linear model of the same loss, to which attention adds.

    Pobrotyn, Bartczak, Synowiec, Białobrzeski, Bojar: Context-aware learning to rank with self-attention. SIGIR eCom
    2020. Needs PyTorch, the extra ``torch``; ``Ranker(loss, scorers.Attention(…), trainer)`` leaves more to choose.

    Parameters
    ----------
    loss : Loss, optional
        What is minimized; :class:`podium.losses.ListNetLoss` if not given.
    layers, heads, width : int
        See :class:`podium.scorers.Attention`.
    dropout : float
        Share of numbers that training leaves out at random.
    dtype : {"float32", "float64"}
        What is computed in.
    l2 : float
        Penalty on the weights of the network.
    epochs : int
        Passes over the training queries, at most.
    batch_size : int
        Queries per step.
    learning_rate : float
        Step size of Adam.
    patience : int, optional
        With validation queries: stop after this many epochs without a better metric.
    restarts : int
        Random starts, of which the best on the validation queries is kept.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=30, n_documents=8, n_features=4)
    >>> ranker = podium.AttentionRanker(layers=1, width=8, epochs=20, learning_rate=0.01, random_state=0)
    >>> ranker.fit(queries).score(queries) > 0.7
    True
    """

    loss: Loss | None = None
    layers: int = 2
    heads: int = 2
    width: int = 32
    dropout: float = 0.2
    dtype: str = "float32"
    l2: float = 1e-3
    epochs: int = 50
    batch_size: int = 16
    learning_rate: float = 1e-3
    patience: int | None = 10
    restarts: int = 1

    def _loss(self) -> Loss:
        return ListNetLoss() if self.loss is None else self.loss.seeded(seed_of(self.random_state))

    def _scorer(self) -> Attention:
        return Attention(self.layers, self.heads, self.width, self.dropout, self.dtype, l2=self.l2)

    def _trainer(self) -> Trainer:
        return FromLine(
            self.epochs,
            self.batch_size,
            self.learning_rate,
            patience=self.patience,
            restarts=self.restarts,
        )


METHODS.add(
    "attention",
    AttentionRanker,
    "ListNet's loss on self-attention over the list (needs PyTorch)",
    "Pobrotyn et al., SIGIR eCom 2020",
    "listwise",
    {
        "width": Choice(16, 64),
        "layers": Choice(1, 2),
        "learning_rate": LogUniform(3e-4, 1e-3, 3e-3),
        "dropout": Choice(0.0, 0.2),
    },
    stochastic=True,
    kind="network",
    package="torch",
)
