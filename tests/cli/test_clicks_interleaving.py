"""Planning an interleaving and reading its log from the command line."""

import json

import polars
import pytest

from podium.clicks import plan


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_log_is_judged(podium_command, tmp_path, name):
    log = polars.DataFrame(
        {
            "session": ["007", "007", "7", "8"],  # different sessions, though equal as numbers
            "document": ["1", "2", "1", "2"],
            "team": ["a", "b", "a", None],
            "clicked": [1, 0, 1, 1],
        }
    )
    path = tmp_path / name
    log.write_csv(path) if name.endswith("csv") else log.write_parquet(path)
    done = podium_command("clicks", "interleaving", path)
    assert done.code == 0, done.err
    assert done.out.startswith("a wins 2 of 2 decided sessions, 100.0 % [15.8 %, 100.0 %]; sign test p = 0.5; 1 of 3")
    facts = json.loads(podium_command("clicks", "interleaving", path, "--json").out)
    assert (facts["wins_a"], facts["wins_b"], facts["undecided"], facts["p_value"]) == (2, 0, 1, 0.5)


def test_bad_logs_name_the_file(podium_command, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("session,document,team,click\n1,x,a,1\n")
    done = podium_command("clicks", "interleaving", path)
    assert done.code == 2
    assert "log.csv: there is no column 'clicked'" in done.err
    assert "Did you mean 'click'?" in done.err


def test_plans(podium_command, capsys):
    n = plan(0.02, 0.9)
    assert podium_command("clicks", "plan", "0.02", "--power", "0.9").out == f"decided sessions: {n:,}\n"
    done = podium_command("clicks", "plan", "0.1", "--decided", "0.25", "--json")
    assert json.loads(done.out)["sessions"] == plan(0.1, decided=0.25) == 4 * plan(0.1)
    assert "25 % are decided" in podium_command("clicks", "plan", "0.1", "--decided", "0.25").out
    with pytest.raises(SystemExit):
        podium_command("clicks", "plan", "0.7")
    assert "'0.7' is not a share of sessions above 0 and below 0.5" in capsys.readouterr().err
