"""A small driver of headless Chromium: real clicks, keys and screenshots, and no package or port.

It speaks the DevTools protocol over two pipes: the browser reads commands from its file descriptor 3 and writes replies
and events to 4, each a JSON text ended by NUL.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROGRAM = os.environ.get("PODIUM_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
if not hasattr(os, "posix_spawn"):
    PROGRAM = None
"""The browser there is; None if there is none, or no way to hand it the pipes."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # a container has little of it
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)

PATIENCE = 30.0
"""Seconds after which a command or a condition has failed; they take milliseconds, but the machine may be busy."""


def why_not() -> str | None:
    """Why there is no browser to test with; None if there is one."""
    if PROGRAM is None:
        return "there is no Chromium or Chrome; PODIUM_BROWSER names one"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        plain = [flag for flag in FLAGS if flag != "--remote-debugging-pipe"]
        command = [PROGRAM, *plain, f"--user-data-dir={profile}", "--dump-dom", "about:blank"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{PROGRAM} does not start: {error}"
    return None if "<html" in done.stdout else f"{PROGRAM} does not start: {done.stderr[-300:]}"


KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), " ": (32, " "), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
"""Code and typed text of the keys that are not letters."""


class Browser:
    """A browser process of its own, with a profile of its own; ends with the ``with`` block."""

    def __init__(self, profile: Path) -> None:
        (child_in, self._commands), (self._events, child_out) = _pipe(), _pipe()
        null = os.open(os.devnull, os.O_RDWR)
        program = shutil.which(PROGRAM or "") or "no browser found"
        self._process = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, null, standard) for standard in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, child_in, 3),
                (os.POSIX_SPAWN_DUP2, child_out, 4),
            ],
            setpgroup=0,  # so that its helpers can be ended with it
        )
        for descriptor in (child_in, child_out, null):
            os.close(descriptor)
        self._unread = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, TimeoutError):
            self.call("Browser.close")
        os.close(self._commands)
        os.close(self._events)
        deadline = time.monotonic() + 5.0
        while not (ended := os.waitpid(self._process, os.WNOHANG)[0]) and time.monotonic() < deadline:
            time.sleep(0.01)
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        if not ended:
            os.waitpid(self._process, 0)

    def page(self) -> Page:
        """A new page, empty yet."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._pages[session] = Page(self, session)
        return self._pages[session]

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Send a command and wait for its reply. Events that come first go to their pages."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        _write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._read(deadline, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if page := self._pages.get(answer.get("sessionId", "")):
                page.hear(answer.get("method", ""), answer.get("params", {}))

    def _read(self, deadline: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0.0 or not select.select([self._events], [], [], left)[0]:
                raise TimeoutError(f"the browser did not answer {waiting_for} within {PATIENCE:g} s")
            part = os.read(self._events, 1 << 20)
            if not part:
                raise ConnectionError(f"the browser ended before it answered {waiting_for}")
            self._unread += part
        text, self._unread = self._unread.split(b"\0", 1)
        return json.loads(text)


class Page:
    """One page, and all that it complained about or asked the network for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self._complaints: list[str] = []
        self._requests: list[str] = []
        self._address = ""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, uncaught exceptions, violations of the content security policy."""
        self.evaluate("0")  # its answer comes after all that was said before
        return self._complaints

    @property
    def requests(self) -> list[str]:
        """Every address that was asked for but the page's own."""
        self.evaluate("0")
        return self._requests

    def look(self, *, width: int = 1200, height: int = 900, dark: bool = False, medium: str = "screen") -> None:
        """The size of the window, and the reader's preferences. Motion is reduced: a click need not wait for it."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        preferences = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferences.items()]
        self._call("Emulation.setEmulatedMedia", media=medium, features=features)

    def open(self, address: str, downloads: Path, **look: Any) -> None:
        """Load an address; ``look`` is that of :meth:`look`, and files go to ``downloads`` if they are clicked."""
        self._browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.look(**look)
        self.go(address)

    def go(self, address: str) -> None:
        """Load an address, anew even if only what follows ``#`` differs."""
        self._address = address.partition("#")[0]
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        reply = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(f"{expression}: {_thrown(reply['exceptionDetails'])}")
        return reply["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until the expression is true."""
        self.wait_until(lambda: self.evaluate(expression), expression)

    def wait_until(self, happened: Callable[[], object], what: str) -> None:
        """Until what is described has happened."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {PATIENCE:g} s: {what}; complaints: {self._complaints}")
            time.sleep(0.02)

    def texts(self, selector: str) -> list[str]:
        """What the elements say, with spaces as a reader sees them."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        return self.evaluate(f"{found}.map((element) => element.textContent.trim().replace(/\\s+/g, ' '))")

    def click(self, selector: str) -> None:
        """Press and release the mouse at the middle of an element, if that is where a reader could."""
        place = self.evaluate(f"({_MIDDLE})({json.dumps(selector)})")
        if "trouble" in place:
            raise AssertionError(f"{selector} cannot be clicked: {place['trouble']}")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, x=place["x"], y=place["y"], **button)

    def type(self, text: str) -> None:
        """Letter by letter, into whatever has the focus."""
        for letter in text:
            self._call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def press(self, key: str) -> None:
        """One of :data:`KEYS`."""
        number, text = KEYS[key]
        about = {"key": key, "code": key.replace(" ", "Space"), "windowsVirtualKeyCode": number}
        self._call("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self._call("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """What the window shows, or the whole page, as PNG."""
        picture = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(picture["data"]))

    def hear(self, event: str, about: dict[str, Any]) -> None:
        """Keep what an event says, if it is of interest."""
        if event == "Runtime.exceptionThrown":
            self._complaints.append(_thrown(about["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self._complaints.append(" ".join(str(part.get("value", part.get("description"))) for part in about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self._complaints.append(about["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            asked = about["request"]["url"]
            if asked.partition("#")[0] not in (self._address, "about:blank"):
                self._requests.append(asked)

    def _call(self, method: str, **parameters: Any) -> Any:
        return self._browser.call(method, self._session, **parameters)


# An element is clicked at its middle; whatever lies on top there would get the click instead.
_MIDDLE = """(selector) => {
  const element = document.querySelector(selector);
  if (!element) return { trouble: "there is none" };
  element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  const box = element.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const top = document.elementFromPoint(x, y);
  if (top && (element.contains(top) || top.contains(element))) return { x, y };
  return { trouble: `at ${x}, ${y} there is ${top?.outerHTML.slice(0, 80) ?? "nothing"}` };
}"""


def _thrown(details: dict[str, Any]) -> str:
    return details.get("exception", {}).get("description") or details["text"]


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not among the numbers that the browser's own shall have."""
    import fcntl

    low = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return read, write


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
