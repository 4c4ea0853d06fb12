"""examples/nginx.conf with the real nginx in front of two real processes."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import ROOT, Watched, free_port, running, wait_live
from tests.browser.find_nginx import find
from tests.browser.test_page import card, readout

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="nginx is not installed on this machine"),
]
# The processes answer alike but for this header, so that a test sees who answered.
NAMES = ("http://one.example", "http://two.example")


@dataclass(frozen=True)
class Front:
    port: int
    config: str


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("nginx")
    port = free_port()
    options = (f"--allow-websocket-origin=localhost:{port}", "--static-dirs", "assets=static")
    with ExitStack() as started:
        behind = [
            started.enter_context(running(*options, settings={"SERVING_EMBED_ORIGINS": name})).port
            for name in NAMES
        ]
        config = (ROOT / "examples" / "nginx.conf").read_text(encoding="utf-8")
        for published, here in (("8080", port), ("5006", behind[0]), ("5007", behind[1])):
            config = config.replace(published, str(here))
        (folder / "nginx.conf").write_text(config, encoding="utf-8")
        nginx = subprocess.Popen(
            [find() or "nginx", "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"],
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port)
            yield Front(port, config)
        finally:
            nginx.terminate()
            nginx.wait(10)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            with socket.create_connection(("localhost", port), timeout=5):
                return
        except OSError:
            assert time.monotonic() < deadline, "nginx did not answer"
            time.sleep(0.1)


def get(front: Front, path: str, **headers: str) -> http.client.HTTPResponse:
    with closing(http.client.HTTPConnection("localhost", front.port, timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer


def process_of(answer: http.client.HTTPResponse) -> str:
    return (answer.getheader("Content-Security-Policy") or "").removeprefix("frame-ancestors ")


def test_a_reader_stays_with_one_process_and_readers_spread_over_both(front: Front) -> None:
    seen = set()
    for _ in range(12):
        first = get(front, "/app")
        cookie = (first.getheader("Set-Cookie") or "").split(";")[0]
        assert cookie.startswith("serving=")
        again = {process_of(get(front, "/app", Cookie=cookie)) for _ in range(3)}
        assert again == {process_of(first)}
        seen |= again
    assert seen == set(NAMES)


def test_texts_travel_compressed(front: Front) -> None:
    for path in ("/app", "/static/js/bokeh.min.js", "/assets/embed.js"):
        answer = get(front, path, **{"Accept-Encoding": "gzip"})
        assert answer.status == 200, path
        assert answer.getheader("Content-Encoding") == "gzip", path


def test_another_host_name_gets_no_answer(front: Front) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        get(front, "/app", Host="evil.example")


def test_the_page_is_live_through_nginx(front: Front, browser: Browser) -> None:
    context = browser.new_context()
    context.set_default_timeout(15_000)
    watched = Watched(context, own=f"http://localhost:{front.port}")
    page = watched.page
    page.goto(f"http://localhost:{front.port}/")
    wait_live(page)
    before = readout(page, "prefill-decode", "step").inner_text()
    slider = card(page, "prefill-decode").locator("input[data-key=batch]")
    slider.focus()
    for _ in range(8):
        slider.press("ArrowRight")
    expect(readout(page, "prefill-decode", "step")).not_to_have_text(before)
    context.close()
    watched.assert_quiet()


def test_a_page_whose_cookies_are_blocked_is_live_too(front: Front, browser: Browser) -> None:
    """In a frame on another site the cookie may be kept out; either process then serves it."""
    context = browser.new_context()
    watched = Watched(context, own=f"http://localhost:{front.port}")
    for _ in range(4):
        context.clear_cookies()
        watched.page.goto(f"http://localhost:{front.port}/app", wait_until="commit")
        context.clear_cookies()
        wait_live(watched.page)
    context.close()
    watched.assert_quiet()


def test_the_example_names_what_a_course_has_to_change(front: Front) -> None:
    for word in ("server_name", "--allow-websocket-origin", "SameSite", "ssl"):
        assert word in front.config
    assert Path(ROOT / "examples" / "nginx.conf").exists()
