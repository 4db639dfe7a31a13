"""The losses behind the names of methods."""

from podium.core.wording import did_you_mean
from podium.losses.base import Loss
from podium.rankers.methods import METHODS, accepted


def named_loss(name: str) -> Loss:
    """Return the loss on which a method is trained, with the method's defaults and the seed 0.

    Examples
    --------
    >>> named_loss("ranknet")
    RankNetLoss()
    """
    loss = _loss_of(name) if name in METHODS else None
    if loss is not None:
        return loss
    known = list(named_losses())
    if name in METHODS:
        raise ValueError(f"{name} is trained without a loss of scores; those with one are {', '.join(known)}")
    raise ValueError(
        f"no loss named {name!r}; there are {', '.join(known)}.{did_you_mean(name.lower(), known, cutoff=0.5)}"
    )


def named_losses() -> dict[str, Loss]:
    """Return the losses of all methods that have one, by name."""
    found = {name: _loss_of(name) for name in METHODS}
    return {name: loss for name, loss in found.items() if loss is not None}


def _loss_of(name: str) -> Loss | None:
    build = METHODS[name].build
    ranker = build(**accepted(build, {"random_state": 0}))
    loss: Loss | None = ranker._loss() if hasattr(ranker, "_loss") else None
    return loss
