"""Progress of studies and fits: a bar where one can be seen, lines where they were asked for, else nothing."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

import podium
from podium.core.showing import progress
from podium.training import bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@pytest.fixture(scope="module")
def lists():
    return podium.make_queries(n_queries=12, n_documents=5, n_features=3, random_state=0)


def study(lists, **options):
    return podium.compare(lists, ["regression"], folds=3, metrics=["ndcg@5"], jobs=1, **options)


def test_nothing_is_shown_where_nobody_watches_unless_asked_for(lists, capsys):
    study(lists)
    assert capsys.readouterr().err == ""
    study(lists, progress=True)
    err = capsys.readouterr().err
    assert "[1/" in err
    assert "regression" in err


def test_a_bar_in_a_terminal_unless_turned_off(lists, terminal):
    with redirect_stderr(terminal):
        study(lists, progress=False)
        assert terminal.getvalue() == ""
        study(lists)
    assert "starting" in terminal.getvalue()
    assert "\x1b[2K" in terminal.getvalue()  # it is taken down at the end
    assert not progress._shown


def test_tune_and_auto_tell_what_they_try(lists, terminal, monkeypatch):
    shown = []
    monkeypatch.setattr(progress.TerminalBar, "show", lambda self, *state: shown.append(state))
    with redirect_stderr(terminal):
        podium.tune("regression", lists, space={"l2": [0.1, 1.0]}, folds=2)
        assert ("regression" in shown[-1][0], shown[-1][1:]) == (True, (4, 4, ""))
        podium.Auto(methods=["regression"], folds=2, random_state=0).fit(lists)
    assert len(shown) > 5


@pytest.mark.parametrize("ranker", [podium.RankNet(verbose=1), podium.LambdaMART(n_trees=5, verbose=1)], ids=repr)
def test_a_fit_shows_iteration_loss_metric_and_time_left(ranker, lists, terminal, monkeypatch):
    monkeypatch.setattr(bar, "SOON", -1.0)
    shown, seen = [], []
    monkeypatch.setattr(progress.TerminalBar, "show", lambda self, *state: shown.append(state))
    with redirect_stderr(terminal):
        ranker.fit(lists, eval_set=lists, callback=lambda state: seen.append(state.iteration))
    text, done, total, left = shown[0]
    assert text.startswith("loss ")
    assert ", validation 0." in text
    assert (done, left[:7]) == (1, "at most")
    assert total == (5 if isinstance(ranker, podium.LambdaMART) else 1000)  # trees asked for; LBFGS's most iterations
    assert [state[1] for state in shown] == seen
    assert "[podium]" not in terminal.getvalue()


def test_short_fits_show_nothing_and_lines_can_be_had(lists, terminal):
    with redirect_stderr(terminal):
        podium.RankNet(verbose=1).fit(lists)
        assert terminal.getvalue() == ""
        podium.RankNet(verbose=2).fit(lists)
    assert "[podium] iteration    1" in terminal.getvalue()


def test_a_bar_within_a_bar_is_hidden_and_an_error_takes_the_bar_down(terminal):
    def work():
        with progress.Reporter():
            assert isinstance(progress.new_display(), progress.Hidden)
            raise ZeroDivisionError

    with redirect_stderr(terminal), pytest.raises(ZeroDivisionError):
        work()
    assert not progress._shown
