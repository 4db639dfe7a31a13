"""Pages of sections, each of which judges the claims that it declares, by what it computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.core.atomic import atomic_write

from .pictures import Picture
from .run import NotComputedError, Run

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot tell here"


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, with the figures that say so. The claim is named by the keyword that declares it."""

    claim: str
    verdict: str
    figures: str

    def __post_init__(self) -> None:
        if self.verdict not in (HOLDS, FAILS, OPEN):
            raise ValueError(f"a claim {HOLDS}, {FAILS}, or one {OPEN}; got {self.verdict!r}")


Write = Callable[[Run], Iterator["str | Picture | Verdict"]]


@dataclass(frozen=True)
class Section:
    """A part of a page. ``write`` yields paragraphs, tables, pictures and verdicts as their results are there."""

    title: str
    claims: Mapping[str, tuple[str, str]]
    """By name: where the paper says it, and what."""
    write: Write

    @property
    def name(self) -> str:
        return self.write.__name__


def section(title: str, **claims: tuple[str, str]) -> Callable[[Write], Section]:
    """Make a section of a generator function. Claims are ``name=("§6.1", "what the paper says")``."""
    return lambda write: Section(title, claims, write)


@dataclass(frozen=True)
class Paper:
    """A page: of a paper, or of a study."""

    name: str
    title: str
    introduction: str
    sections: Sequence[Section]
    not_here: Mapping[tuple[str, str], str]
    """Claims, tables and figures that cannot be computed, as (where, what), with the reason."""


def write_page(paper: Paper, run: Run, docs: Path, only: Sequence[str] = ()) -> list[str]:
    """Write ``docs/NAME.md`` and its pictures; return what is not computed.

    Sections that are not among ``only``, if that names any, are written of what is stored.
    """
    parts: list[str] = []
    verdicts: dict[tuple[str, str], Verdict] = {}
    missing: list[str] = []
    for part in paper.sections:
        asked = run if not only or part.name in only else _as_stored(run)
        parts.append(f"## {part.title}")
        found, lacking = _written(part, asked, docs, paper.name)
        parts += [block for block in found if isinstance(block, str)]
        given = {each.claim: each for each in found if isinstance(each, Verdict)}
        if unknown := set(given) - set(part.claims):
            raise ValueError(f"section {part.name} judges {unknown}, which it does not declare as claims")
        for name, claim in part.claims.items():
            verdicts[claim] = given.get(name) or Verdict(name, OPEN, "not computed yet")
        if lacking:
            missing.append(f"{part.title}: {lacking}")
            parts.append(f"*Not computed yet: {lacking}.* `make papers PAPER={paper.name}` computes it.")
    rows = [[where, what, v.verdict, v.figures] for (where, what), v in verdicts.items()]
    rows += [[where, what, OPEN, why] for (where, what), why in paper.not_here.items()]
    claims = table(["where", "claim", "verdict", "figures"], rows, numbers=False)
    opening = [f"# {paper.title}", paper.introduction.strip(), _provenance(paper, run)]
    lines = [*opening, *(["## Claims", claims] if rows else []), *parts]
    with atomic_write(docs / f"{paper.name}.md") as file:
        file.write("\n\n".join(lines) + "\n")
    return missing


def _as_stored(run: Run) -> Run:
    return Run(run.folder, run.data, stored_only=True, used=run.used)


def _written(part: Section, run: Run, docs: Path, prefix: str) -> tuple[list[str | Verdict], str]:
    """Return the blocks of a section as far as there are results, and what is missing."""
    found: list[str | Verdict] = []
    run.lacking.clear()
    try:
        for block in part.write(run):
            found.append(block.save(docs, prefix) if isinstance(block, Picture) else block)
    except NotComputedError as error:
        return found, "; ".join([*run.lacking, str(error)])
    return found, "; ".join(run.lacking)


def _provenance(paper: Paper, run: Run) -> str:
    command = f"```\nmake papers PAPER={paper.name}\n```"
    if not run.used:
        return f"{command}\n\nNothing is computed yet."
    dates = sorted(str(each["computed"]) for each in run.used.values())
    versions = ", ".join(sorted({str(each["podium"]) for each in run.used.values()}))
    seconds = sum(float(each["seconds"]) for each in run.used.values())
    return (
        f"{command}\n\nWritten from {len(run.used)} stored results, computed {dates[0]} to {dates[-1]} (UTC) by Podium "
        f"{versions} in {seconds / 60:.0f} minutes of work. Seeds {', '.join(map(str, run.seeds))} where a method "
        "depends on one; p by the paired randomization test over queries, whose values are means over seeds; "
        "intervals are 95 % bootstrap intervals. Settings are chosen on validation parts."
    )


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: bool = True) -> str:
    """Return a Markdown table; numbers are rounded to four digits and, but in the first column, flush right."""
    aligned = ["---", *["---:" if numbers else "---"] * (len(header) - 1)]
    lines = [header, aligned, *[[_cell(value) for value in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return figure(value)
    return "" if value is None else str(value)


def figure(value: float, digits: int = 4) -> str:
    """Return a number as papers print it: .4468."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def beside(ours: float, printed: float | None) -> str:
    """Return our figure, and the printed one in italics."""
    return figure(ours) if printed is None else f"{figure(ours)} *{figure(printed)}*"
