"""Interleaving: hand arithmetic, enumeration, fairness, and the test and plan that go with it."""

from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, binomtest

from podium.clicks import InterleavingResult, interleave, interleaving_result, plan

METHODS = ("team-draft", "probabilistic")


def test_team_draft_shows_exactly_the_lists_that_its_rounds_allow() -> None:
    # First round: x by a, then y by b, or y by b, then x by a. Second: whoever is first brings z.
    generator = np.random.default_rng(0)
    seen = Counter()
    for _ in range(4000):
        documents, teams = interleave(["x", "z", "y"], ["y", "z", "x"], random_state=generator)
        seen["".join(documents), "".join(teams)] += 1
    assert set(seen) == {("xyz", "aba"), ("xyz", "abb"), ("yxz", "baa"), ("yxz", "bab")}
    assert all(abs(count - 1000) < 130 for count in seen.values())  # 4.7 standard deviations


def test_team_draft_skips_what_is_shown_and_both_teams_bring_as_many() -> None:
    documents, teams = interleave([1, 2, 3, 4, 5, 6], [1, 2, 4, 3, 6, 5], random_state=3)
    assert sorted(documents) == [1, 2, 3, 4, 5, 6]
    assert documents[:2] == [1, 2]
    assert [set(teams[i : i + 2]) for i in (0, 2, 4)] == [{"a", "b"}] * 3


def test_probabilistic_lists_have_the_probabilities_of_drawing_without_replacement() -> None:
    a, b, exponent = ["x", "y", "z"], ["y", "z", "x"], 1.0

    def probability(order: tuple[str, ...]) -> float:
        """Draw the three documents one after the other, from either ranking with probability ½."""
        total = 1.0
        for place, document in enumerate(order):
            chances = []
            for ranking in (a, b):
                weights = {d: (r + 1) ** -exponent for r, d in enumerate(ranking) if d not in order[:place]}
                chances.append(weights[document] / sum(weights.values()))
            total *= sum(chances) / 2
        return total

    generator, n = np.random.default_rng(0), 20_000
    seen = Counter(
        tuple(interleave(a, b, "probabilistic", exponent=exponent, random_state=generator).documents) for _ in range(n)
    )
    for order in permutations(a):
        assert seen[order] / n == pytest.approx(probability(order), abs=4.5 * 0.5 / np.sqrt(n))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_left_of_one_ranking_counts_to_neither(method: str) -> None:
    documents, teams = interleave(["x"], ["x", "y", "z"], method, random_state=0)
    assert documents[0] in "xyz"
    assert sorted(documents) == ["x", "y", "z"]
    after = documents.index("x") + 1
    assert set(teams[:after]) <= {"a", "b"}
    assert teams[after:] == [None] * (3 - after)
    assert interleave([], [1], method) == ([1], [None])
    assert interleave([], [], method) == ([], [])


@pytest.mark.parametrize("method", METHODS)
def test_length_seed_and_kinds_of_ids(method: str) -> None:
    a, b = np.arange(50), np.arange(50)[::-1]
    shown = interleave(a, b, method, length=10, random_state=7)
    assert len(shown.documents) == len(shown.teams) == 10
    assert type(shown.documents) is list
    assert all(type(document) is int for document in shown.documents)
    assert shown == interleave(a.tolist(), tuple(b.tolist()), method, length=10, random_state=7)
    assert shown != interleave(a, b, method, length=10, random_state=8)
    assert sorted(interleave([("u", 1)], [("u", 2)], method).documents) == [("u", 1), ("u", 2)]


def test_bad_rankings_are_refused() -> None:
    with pytest.raises(ValueError, match="a lists document 'x' twice"):
        interleave(["x", "y", "x"], ["x"])
    with pytest.raises(ValueError, match="b must be a sequence of document ids; got the text 'xy'"):
        interleave(["x"], "xy")
    with pytest.raises(ValueError, match="method must be one of"):
        interleave([1], [2], "balanced")
    with pytest.raises(ValueError, match="length must be a whole number"):
        interleave([1], [2], length=0)


LOG = {
    # Session 1 goes to a, 2 to b by two clicks to one, 3 and 4 are undecided, in 5 the click counts to neither.
    "session": [1, 1, 2, 2, 2, 3, 3, 4, 5],
    "document": ["x", "y", "x", "y", "z", "y", "x", "x", "w"],
    "team": ["a", "b", "a", "b", "b", "a", "b", "b", None],
    "clicked": [1, 0, 1, 1, 1, 1, 1, 0, 1],
}


def test_sessions_are_won_by_more_clicks_whatever_holds_the_log() -> None:
    expected = InterleavingResult(wins_a=1, wins_b=1, undecided=3)
    assert interleaving_result(LOG) == expected
    assert interleaving_result(pl.DataFrame(LOG)) == expected
    assert interleaving_result(pd.DataFrame(LOG)) == expected
    assert interleaving_result(LOG | {"team": [*LOG["team"][:-1], float("nan")]}) == expected
    assert interleaving_result({name: values[::-1] for name, values in LOG.items()}) == expected
    assert (expected.decided, expected.sessions, expected.share, expected.difference) == (2, 5, 0.5, 0.0)


def test_sign_test_and_interval_agree_with_scipy() -> None:
    for wins, losses in ((0, 3), (7, 2), (30, 50), (520, 480), (560, 440), (12, 0)):
        result = InterleavingResult(wins, losses, 4)
        exact = binomtest(wins, wins + losses)
        assert result.p_value == pytest.approx(exact.pvalue, abs=1e-12)
        assert result.interval(0.9) == pytest.approx(tuple(exact.proportion_ci(0.9)), abs=1e-9)
    nothing = InterleavingResult(0, 0, 2)
    assert nothing.p_value == 1.0
    assert nothing.interval() == (0.0, 1.0)
    assert str(nothing) == "none of 2 sessions is decided"


def test_bad_logs_are_refused() -> None:
    with pytest.raises(ValueError, match="no column 'team'"):
        interleaving_result({"session": [1], "document": [1], "clicked": [1]})
    with pytest.raises(ValueError, match=r"row 2 .* team must be 'a', 'b' or missing; got 'c'"):
        interleaving_result(LOG | {"team": ["a", "b", "c", *LOG["team"][3:]]})
    with pytest.raises(ValueError, match=r"row 8 .* clicked must be 0 or 1; got 2 \(1 such rows\)"):
        interleaving_result(LOG | {"clicked": [*LOG["clicked"][:-1], 2]})
    with pytest.raises(ValueError, match=r"row 1 .* document 'x' is in session 1 a second time"):
        interleaving_result(LOG | {"document": ["x", *LOG["document"][0:1], *LOG["document"][2:]]})
    with pytest.raises(ValueError, match="team must have one entry"):
        interleaving_result(LOG | {"team": ["a"]})
    with pytest.raises(ValueError, match="no rows"):
        interleaving_result({name: [] for name in LOG})
    with pytest.raises(TypeError, match="a frame or a dictionary"):
        interleaving_result([(1, "x", "a", 1)])


@pytest.mark.parametrize("method", METHODS)
def test_equal_rankings_win_equally_often(method: str) -> None:
    # People who click the first document shown: each team should own it in half of the sessions.
    generator, n = np.random.default_rng(1), 3000
    ranking = list(range(10))
    first = [interleave(ranking, ranking, method, length=5, random_state=generator).teams[0] for _ in range(n)]
    log = {"session": np.arange(n), "document": np.zeros(n, int), "team": first, "clicked": np.ones(n)}
    result = interleaving_result(log)
    assert result.decided == n
    assert abs(result.difference) < 4.5 * 0.5 / np.sqrt(n)


def test_a_a_tests_are_seldom_significant() -> None:
    wins = np.random.default_rng(0).binomial(1000, 0.5, 2000)
    significant = [InterleavingResult(int(w), 1000 - int(w), 0).p_value <= 0.05 for w in wins]
    assert 0.03 <= np.mean(significant) <= 0.06


@pytest.mark.parametrize(("difference", "power"), [(0.2, 0.8), (0.05, 0.8), (-0.1, 0.9), (0.02, 0.5)])
def test_the_planned_power_is_met(difference: float, power: float) -> None:
    def exact_power(n: int) -> float:
        wins = np.arange(n + 1)
        p_values = np.minimum(1.0, 2.0 * binom.cdf(np.minimum(wins, n - wins), n, 0.5))
        return binom.pmf(wins, n, 0.5 + difference)[p_values <= 0.05].sum()

    n = plan(difference, power)
    assert power <= exact_power(n) <= power + 0.03
    assert max(map(exact_power, range(max(1, n - 40), n))) < power
    drawn = np.random.default_rng(0).binomial(n, 0.5 + difference, 4000)
    found = np.mean([InterleavingResult(int(w), n - int(w), 0).p_value <= 0.05 for w in drawn])
    assert found == pytest.approx(power, abs=0.03)


def test_plans_by_hand_and_their_limits() -> None:
    # If a wins always, n wins have a p-value of 2/2^n: 6 are needed for .05, 11 for .001.
    assert plan(0.5, 0.99) == 6
    assert plan(0.5, 0.99, significance=0.001) == 11
    assert plan(0.5, 0.99, decided=0.1) == 60
    assert plan(0.001) > 1_900_000
    for bad in ({"difference": 0.0}, {"difference": 0.6}, {"difference": 0.1, "power": 1.0}):
        with pytest.raises(ValueError, match="must be"):
            plan(**bad)
