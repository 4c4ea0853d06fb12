"""A real server on a free port and a real Chromium that may speak to nobody else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, sync_playwright

from tests.browser.find_chromium import find

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1360, "height": 1000}
PHONE = {"width": 375, "height": 812}
# A column of a chart's source, as the page has it.
COLUMN = """([chart, source, column]) => {
  const model = Bokeh.documents[0].get_model_by_name(`${chart}.${source}`);
  return model && Array.from(model.data[column]);
}"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A running `panel serve app.py`."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/app"

    def stop(self) -> str:
        """End it; what it has printed."""
        self.process.terminate()
        return self.process.communicate(timeout=10)[0].decode()


@contextmanager
def running(
    *options: str, settings: dict[str, str] | None = None, port: int | None = None
) -> Iterator[Server]:
    """`panel serve app.py` as a reader runs it, ready to answer; `settings` for its environment."""
    port = port or free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "panel", "serve", "app.py", "--port", str(port), *options],
        cwd=ROOT,
        env={**os.environ, **(settings or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    server = Server(port, process)
    try:
        _wait_for_answer(server)
        yield server
    finally:
        if process.returncode is None:
            server.stop()


def _wait_for_answer(server: Server) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(server.url, timeout=10) as answer:
                assert answer.status == 200
                return
        except OSError:
            if server.process.poll() is not None:
                raise RuntimeError(f"the server ended at once:\n{server.stop()}") from None
            time.sleep(0.1)
    raise RuntimeError("the server did not answer within 60 s")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running() as server:
        yield server.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find()
    assert path, "no Chromium; run `make test` once, which installs one"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """A plain web server over a folder, on an origin of its own."""
    handler = partial(_SilentFiles, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_address[1]}"
        files.shutdown()


class _SilentFiles(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """A test prints what fails and nothing else."""


class Watched:
    """A page, the errors it raised and the outside hosts it asked for."""

    def __init__(self, context: BrowserContext, own: str = "http://127.0.0.1:") -> None:
        self._own = (own, "http://127.0.0.1:", "data:", "blob:")
        self.outside: list[str] = []
        self.errors: list[str] = []
        context.route("**/*", self._guard)
        self.page: Page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _guard(self, route: Route) -> None:
        url = route.request.url
        if url.startswith(self._own):
            route.continue_()
        else:
            self.outside.append(url)
            route.abort()

    def _console(self, message: object) -> None:
        if message.type in ("error", "warning"):  # type: ignore[attr-defined]
            self.errors.append(message.text)  # type: ignore[attr-defined]

    def assert_quiet(self) -> None:
        assert self.outside == []
        assert self.errors == []


@pytest.fixture
def open_page(browser: Browser, server: str) -> Iterator[Callable[..., Watched]]:
    """Open the page and wait until it is live; on teardown no error and no outside request."""
    contexts: list[BrowserContext] = []
    opened: list[Watched] = []

    def open_(
        query: str = "", *, phone: bool = False, dark: bool = False, **options: object
    ) -> Watched:
        context = browser.new_context(
            viewport=PHONE if phone else DESKTOP,
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            accept_downloads=True,
            **options,  # type: ignore[arg-type]
        )
        contexts.append(context)
        watched = Watched(context)
        opened.append(watched)
        watched.page.goto(server + query)
        wait_live(watched.page)
        return watched

    yield open_
    for context in contexts:
        context.close()
    for watched in opened:
        watched.assert_quiet()


def wait_until(page: Page, expression: str, timeout_s: float = 15) -> None:
    """Poll an expression. Playwright's own waiting needs eval, which the page's CSP forbids."""
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(f"() => !!({expression})"):
        assert time.monotonic() < deadline, f"still not so after {timeout_s} s: {expression}"
        time.sleep(0.02)


def bring(page: Page, slug: str) -> Locator:
    """Scroll to a section, whose card is made then, and return the card."""
    place = page.locator(f"#{slug} [data-section]")
    place.scroll_into_view_if_needed()
    card = place.locator(".widget")
    card.wait_for()
    card.scroll_into_view_if_needed()
    return card


def wait_live(page: Page) -> None:
    """Until the document is drawn."""
    wait_until(page, "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
    page.locator(".readout").first.wait_for()
