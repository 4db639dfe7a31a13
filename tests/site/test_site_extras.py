"""The site in a browser, as `make docs` has built it: formulas, search and dark mode, and no request that leaves it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

import podium

from ..experiments import browser

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"

if not (SITE / "search.html").exists():
    pytest.skip("there is no site yet: make docs builds it and runs these tests", allow_module_level=True)

FETCHED = re.compile(r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["'](?:https?:)?//[^"']*""")
LINKED = re.compile(r"""<link\b[^>]*\bhref=["'](?:https?:)?//[^"']*""")
IN_STYLES = re.compile(r"""(?:@import\s+|url\()["']?(?:https?:)?//[^"')]*""")


def test_no_page_asks_for_anything_elsewhere() -> None:
    """Links may lead away; scripts, styles, fonts and pictures may not. Canonical addresses are not fetched either."""
    pages = {page.relative_to(SITE).as_posix(): page.read_text("utf-8") for page in SITE.rglob("*.html")}
    styles = {style.relative_to(SITE).as_posix(): style.read_text("utf-8") for style in SITE.rglob("*.css")}
    assert len(pages) > 100
    outside = [(name, found) for name, text in pages.items() for found in FETCHED.findall(text) + LINKED.findall(text)]
    outside += [(name, found) for name, text in styles.items() for found in IN_STYLES.findall(text)]
    assert outside == []


def test_every_public_name_is_described() -> None:
    """As a name of podium itself, or as one of its room."""
    described = {path.stem for path in (SITE / "reference" / "generated").glob("*.html")}
    modules = [value for name in podium.__all__ if isinstance(value := getattr(podium, name), ModuleType)]
    names = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    names |= {f"podium.{name}" for name in podium.__all__ if not isinstance(getattr(podium, name), ModuleType | str)}
    missing = {name for name in names - described if f"podium.{name.rpartition('.')[2]}" not in described}
    assert len(names) > 150
    assert missing == set()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    if reason := browser.why_not():
        pytest.skip(reason)
    with browser.Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site on this machine, with a slash at its end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(chromium: browser.Browser, site: str) -> Iterator[browser.Page]:
    shown = chromium.page()
    yield shown
    outside = [address for address in shown.requests if not address.startswith((site, "data:"))]
    assert outside == []
    assert shown.complaints == []


def test_formulas_are_drawn_by_the_browser(page: browser.Page, site: str, tmp_path: Path) -> None:
    page.open(f"{site}methods/listnet.html", tmp_path)
    assert page.evaluate("document.querySelectorAll('.math-block math').length") >= 2
    # What is above and below the bar of a fraction is drawn above and below each other, which plain text would not be.
    boxes = "[...document.querySelector('mfrac').children].map((part) => part.getBoundingClientRect())"
    above, below = page.evaluate(f"{boxes}.map((box) => [box.top, box.bottom])")
    assert above[1] <= below[0] + 1.0


def test_search_finds_a_public_name(page: browser.Page, site: str, tmp_path: Path) -> None:
    page.open(f"{site}search.html?q=LambdaMART", tmp_path)
    for part in ("podium.LambdaMART", "methods/lambdamart"):  # results are shown one after the other
        page.wait_for(f"document.querySelector('#search-results li a[href*=\"{part}\"]') !== null")


@pytest.mark.parametrize("width", [390, 1280])
def test_dark_mode_follows_the_reader(page: browser.Page, site: str, tmp_path: Path, width: int) -> None:
    page.open(f"{site}methods/pmop.html", tmp_path, dark=True, width=width)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    channels = re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert max(int(channel) for channel in channels[:3]) < 80
    # Wide tables and formulas scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
