"""The LaTeX table: what it says, and that LaTeX takes it, whatever methods are called."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from podium.experiments.result.latex import latex
from podium.experiments.result.latex_text import escape
from podium.experiments.result.published import PublishedRow, PublishedTable

HOSTILE = (
    'a_b & 50 % of {c} $x$ #1 ~ ^ \\ | <i> "q" `q`',
    "[x] at the start of a row",
    "* there too",
    r"\input{/etc/passwd} \end{tabular}",
    "^^5cend -- ''x'' ,, ?`",
    "Łódź, naïve Žižek, crème brûlée, Ångström, ő",
    "λ-MART, Ω ≥ σ² ± ½",
    "中文 русский עברית 😀 a\u0301\u0302 \x1b \u200b \ufeff",
)


def compile_with_latex(body, folder):
    """The log of a document that has nothing set up but booktabs; fails with LaTeX's complaint if it has one."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("there is no pdflatex")
    lines = [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", body, r"\end{document}"]
    (folder / "paper.tex").write_text("\n".join(lines), "ascii")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    log = (folder / "paper.log").read_text("latin-1")
    assert done.returncode == 0, log[log.find("\n!") :][:800]
    return log


@pytest.fixture
def hostile_comparison(make_comparison):
    c = make_comparison(
        methods=HOSTILE[:-1],
        broken=HOSTILE[-1:],
        data={"name": HOSTILE[0], "description": "by hand", "fingerprint": "f", "folds": ["Fold1", "Fold2"]},
    )
    rows = tuple(PublishedRow(name, name, {"map": 0.4, "ndcg@1": 0.2}) for name in HOSTILE)
    c.published = [PublishedTable(HOSTILE[0], HOSTILE[1], "letor", HOSTILE[-1], rows, exact=True)]
    return c


def test_latex_takes_the_whole_output(hostile_comparison, tmp_path):
    log = compile_with_latex(latex(hostile_comparison), tmp_path)
    assert "Missing character" not in log
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


def test_latex_takes_every_character(tmp_path):
    letters = [chr(i) for i in [*range(0x3000), 0xD800, 0xFEFF, 0x1F600, 0x10FFFF]]
    log = compile_with_latex("\n\n".join(f"x{escape(f'x{c}x')}x" for c in letters), tmp_path)
    assert "Missing character" not in log


def test_any_text_as_latex():
    assert escape("50 % of a_b & {c} ~ ^ \\ $ #") == (
        r"50 \% of a\_b \& \{c\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \#"
    )
    assert escape("two\nlines\tand\u00a0more ") == "two lines and more"
    assert escape('"') == r"\texttt{\char34}"
    assert escape("Łódź, 5 ± 1 †") == r"\L{}\'{o}d\'{z}, 5 $\pm$ 1 \textdagger{}"
    assert escape("e\u0301") == escape("é") == r"\'{e}"
    assert escape("λΛ σ") == r"$\lambda$$\Lambda$ $\sigma$"


def test_what_latex_cannot_print_is_shown_by_its_number():
    assert escape("中😀\x00") == r"\texttt{U+4E2D}\texttt{U+1F600}\texttt{U+0000}"
    assert escape("ế") == r"\texttt{U+1EBF}"  # two accents on one letter


def test_letters_are_not_joined_or_taken_for_arguments():
    assert escape("a--b '' ,,") == "a-{}-b '{}' ,{},"
    assert escape("best-feature, it's") == "best-feature, it's"
    assert escape("[0, 1]") == "{[}0, 1]"
    assert escape("in [0, 1], 2*3") == "in [0, 1], 2*3"
    assert escape("*") == "{*}"


def test_all_that_is_written_is_ascii(hostile_comparison):
    assert latex(hostile_comparison).isascii()


def test_the_table_is_whole_and_marks_what_is_best(make_comparison):
    text = latex(make_comparison(broken=["stopped_&_left"]))
    assert r"stopped\_\&\_left & \multicolumn{3}{l}{failed}" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert text.count(r"\textbf{") == 3  # the best of each metric
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    assert all(line.rstrip().endswith(r"\\") for line in body.splitlines()[1:-1])
