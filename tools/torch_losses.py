"""Write the list of losses in docs/torch.md from the facts of the losses: ``python tools/torch_losses.py``."""

from __future__ import annotations

from pathlib import Path

import podium
from podium.losses import DrawnLabels, FunctionLoss, Loss, WithRegression
from podium.rankers.named_losses import named_losses

PAGE = Path(__file__).resolve().parents[1] / "docs" / "torch.md"
START, END = "<!-- table: tools/torch_losses.py -->", "<!-- end of table -->"


def losses() -> list[Loss]:
    """Return every public loss that can be made without arguments, by name."""
    found = (value for value in vars(podium.losses).values() if isinstance(value, type) and issubclass(value, Loss))
    return [
        cls()
        for cls in sorted(found, key=lambda cls: cls.__name__)
        if cls not in (Loss, DrawnLabels, FunctionLoss, WithRegression)
    ]


def table() -> str:
    """Return the table in Markdown."""
    rows: dict[tuple[str, str], list[str]] = {(type(loss).__name__, _facts(loss)): [] for loss in losses()}
    for name, loss in named_losses().items():  # some have other facts than the class with its defaults
        rows.setdefault((type(loss).__name__, _facts(loss)), []).append(f"`{name}`")
    lines = (
        f"| `podium.losses.{loss}` | {', '.join(names) or '–'} | {facts} |"
        for (loss, facts), names in sorted(rows.items())
    )
    return "\n".join(["| loss | names | gradient |", "|---|---|---|", *lines])


def _facts(loss: Loss) -> str:
    learns = "; learns parameters of its own" if loss.n_parameters else ""
    return f"{'true' if loss.has_gradient else 'a direction'}{'; random' if loss.is_random else ''}{learns}"


def page() -> str:
    """Return the page with the table as it should be."""
    head, _, rest = PAGE.read_text("utf-8").partition(START)
    return f"{head}{START}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"written: {PAGE}")
