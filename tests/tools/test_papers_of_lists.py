"""Sections of the pages of StructRank, BoltzRank and ListNet whose results are known, and one that fits, on tiny data.

All sections are in ``test_papers_extras.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
KNOWN = {
    "structrank": {
        "properties": [
            "| §2 | variables that share no function are marginally independent | holds |",
            "| §3.1 | preferences that share a function are marginally dependent | holds |",
        ],
        "known_networks": ["| §6.1 | ListMLE is a network of multivariate sigmoids over whole orders | holds |"],
    },
    "boltzrank": {
        # For three documents and more the probability of a pair is not logistic; sign and linear are one function.
        "pair_probability": [
            "| §3.2 | with g(x) = k sign(x), P(i before j) = 1/(1 + exp(−k(s_i − s_j))) | does not hold |",
            "| §4.2 | g may be linear, sign or logistic: three functions | does not hold |",
        ],
    },
    "listnet": {"accuracy": ["## Ranking accuracy on OHSUMED", "| ListNet − RankBoost |"]},
}


@pytest.mark.parametrize("name", KNOWN)
def test_sections_whose_results_are_known(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from papers.machinery.command import main

    assert main([name, "--quick", "--sections", *KNOWN[name], "--runs", str(tmp_path)]) == 0
    page = (tmp_path / "docs" / f"{name}.md").read_text("utf-8")
    for lines in KNOWN[name].values():
        for line in lines:
            assert line in page
    assert "*Not computed yet: " in page  # of the other sections
