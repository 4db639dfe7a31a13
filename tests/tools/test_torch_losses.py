"""The list of losses on the page about PyTorch is that of the losses' facts."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


def test_the_page_lists_every_loss_as_it_is(load_tool: Callable[[str], ModuleType]) -> None:
    tool = load_tool("torch_losses")
    assert tool.PAGE.read_text("utf-8") == tool.page(), "out of date: run python tools/torch_losses.py"
    assert "| `podium.losses.LambdaRankLoss` | `lambdamart`, `lambdarank` | a direction |" in tool.table()
    assert "| `podium.losses.PMOPLoss` | `pmop-gibbs`, `pmop-mh` | a direction |" in tool.table()
