"""The static site: built without a network's help at run time, opened under a sub-path, and held
against the server's page number by number."""

from __future__ import annotations

import functools
import http.server
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.conftest import DESKTOP, ROOT, Watched, bring, wait_until
from widgets.page import section_classes
from widgets.site import runtime
from widgets.site.build import build

pytestmark = pytest.mark.browser
Open = Callable[..., Watched]

LIVE = "document.documentElement.dataset.live !== undefined"
# A slow machine under load takes this long to start Python; `make bench` has the time it takes.
PATIENCE_S = 90


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: a request is no event of the tests."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make site OFFLINE=1` builds it; what was downloaded once is kept."""
    root = tmp_path_factory.mktemp("host")
    build(root / "course" / "x", ROOT / ".cache" / "site", offline=True)
    return root


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """The address of the page on a host that only hands out files."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_address[1]}/course/x/"
        host.shutdown()


@pytest.fixture
def open_site(browser: Browser, site: str) -> Iterator[Open]:
    """Open the site; on teardown no error and no outside request."""
    contexts: list[BrowserContext] = []
    opened: list[Watched] = []

    def open_(query: str = "", *, live: bool = True) -> Watched:
        context = browser.new_context(viewport=DESKTOP, color_scheme="light")
        contexts.append(context)
        watched = Watched(context)
        opened.append(watched)
        watched.page.goto(site + query, wait_until="commit")
        if live:
            wait_until(watched.page, LIVE, PATIENCE_S)
        return watched

    yield open_
    for watched in opened:
        watched.assert_quiet()
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def here(browser: Browser, site: str) -> Iterator[Page]:
    """The site at its defaults, live, shared by the tests that put back what they change."""
    context = browser.new_context(viewport=DESKTOP, color_scheme="light")
    watched = Watched(context)
    watched.page.goto(site)
    wait_until(watched.page, LIVE, PATIENCE_S)
    yield watched.page
    watched.assert_quiet()
    context.close()


def readouts(page: Page, slug: str) -> list[str]:
    cells = page.locator(f"#{slug} .readout > :is(small, span:first-of-type)")
    return [" ".join(text.split()) for text in cells.all_text_contents()]


def settled(page: Page, slug: str) -> list[str]:
    """The readouts of a section once no job is at work any more."""
    card = bring(page, slug)
    passing = card.get_by_role("button", name="just show me")
    if passing.count():
        passing.click()
    expect(card.locator(".cover")).to_have_count(0, timeout=30_000)
    time.sleep(0.3)  # a job shows itself a moment after the change that asked for it
    expect(card.locator(".progress")).to_be_hidden(timeout=60_000)
    return readouts(page, slug)


def outline(page: Page) -> list[str]:
    """Tags, ids and texts of the page around the cards."""
    return page.evaluate(
        """() => [...document.querySelectorAll("main, main *, nav, header, #fold")]
        .filter((node) => !node.closest(".card, #scenario > *, .prose *"))
        .map((node) => [node.tagName, node.id, node.className, node.ariaLabel, node.hidden,
          /^(H1|H2|P|A)$/.test(node.tagName) ? node.textContent : ""].join("|"))
        .filter((line) => !line.includes("|root|"))"""
    )


def test_while_python_starts_the_page_reads_and_says_so(open_site: Open) -> None:
    page = open_site(live=False).page
    expect(page.locator("h1")).to_be_visible()
    starting = page.locator("#scenario .starting")
    expect(starting).to_contain_text("Starting")
    expect(page.locator("#prefill-decode [data-readout=step] strong")).to_have_text("12.3")
    expect(page.locator("#prefill-decode .starting")).to_have_text(
        "Starting: these are the defaults"
    )
    assert page.locator("#prefill-decode canvas").count() > 0
    assert page.locator(".stand-in:not([inert])").count() == 0
    wait_until(page, LIVE, PATIENCE_S)
    expect(page.locator(".starting, .stand-in")).to_have_count(0)
    assert page.evaluate("() => Bokeh.documents.length") == 1


def test_every_readout_of_every_section_is_the_servers(
    here: Page, open_page: Callable[..., Watched]
) -> None:
    there = open_page().page
    for slug in section_classes():
        expected = settled(there, slug)
        assert len(expected) > 4, slug
        assert settled(here, slug) == expected, slug


def test_a_links_state_is_restored_and_moves_on(
    open_site: Open, open_page: Callable[..., Watched]
) -> None:
    query = "?model=70B&devices=4&batch=64&context=abc&tokens=9000&section=nonsense&embed=1"
    page = open_site(query, live=False).page
    expect(page.locator("#prefill-decode .starting")).to_contain_text("this link’s own numbers")
    assert page.locator(".readout").count() == 0, "the defaults are not this link's numbers"
    wait_until(page, LIVE, PATIENCE_S)
    there = open_page(query).page
    for slug in ("prefill-decode", "memory"):
        assert settled(page, slug) == settled(there, slug), slug
    notices = page.locator("#scenario .notices")
    expect(notices).to_contain_text("“context=abc” was left out")
    expect(notices).to_contain_text("No section is called “nonsense”")
    expect(page.locator("nav")).to_have_count(1)
    before = readouts(page, "prefill-decode")
    slider = bring(page, "prefill-decode").locator("input[data-key=batch]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "location.search.includes('batch=') && !location.search.includes('batch=64')")
    assert readouts(page, "prefill-decode") != before


def test_one_section_is_embedded_as_on_the_server(
    open_site: Open, open_page: Callable[..., Watched]
) -> None:
    query = "?section=paging&embed=1&lock=model,device&hide=prediction,title&theme=dark"
    page, there = open_site(f"index.html{query}").page, open_page(query).page
    assert outline(page) == outline(there)
    assert settled(page, "paged-caches") == settled(there, "paged-caches")
    expect(page.locator(".widget")).to_have_count(1)
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.locator("#fold > summary").click()
    assert page.locator("#scenario select[data-key=device]").is_disabled()
    assert page.evaluate("() => document.getElementById('whole').href").endswith("/index.html?")


def test_long_work_shows_progress_and_can_be_given_up(here: Page) -> None:
    page = here
    before = settled(page, "scheduling")
    card = bring(page, "scheduling")
    card.get_by_text("More controls").click()
    entry = card.locator("[data-entry=load_requests]")
    entry.fill("1000000")
    entry.press("Enter")
    bar = card.locator(".progress")
    expect(bar).to_contain_text("Running 1,000,000 requests")
    expect(bar.locator("progress")).not_to_have_js_property("value", 0, timeout=30_000)
    bar.get_by_role("button", name="Cancel").click()
    expect(bar).to_be_hidden()
    assert readouts(page, "scheduling") == before
    # What was given up does not stand in the way of the next.
    entry.fill("2000")
    entry.press("Enter")
    wait_until(page, "location.search.includes('load_requests=2000')")
    expect(bar).to_be_hidden(timeout=30_000)
    page.locator("#scenario").get_by_role("button", name="more").click()
    page.locator("#scenario").get_by_role("button", name="Reset everything").click()
    wait_until(page, "!location.search")


def test_a_presentation_has_what_the_servers_has(
    open_site: Open, open_page: Callable[..., Watched]
) -> None:
    query = "?section=memory&present=1"
    page, there = open_site(query).page, open_page(query).page
    assert outline(page) == outline(there)


def test_a_file_nested_without_end_is_refused_and_python_lives_on(here: Page) -> None:
    page = here
    bomb = {"name": "config.json", "mimeType": "application/json", "buffer": b"[" * 400_000}
    page.locator("#scenario input[type=file]").set_input_files(bomb)
    expect(page.locator("#scenario .notices")).to_contain_text("nested more than 50 levels deep")
    for count, address in (
        ("2", "location.search.includes('devices=2')"),
        ("1", "!location.search"),
    ):
        page.locator("#scenario [data-key=devices]").fill(count)
        page.locator("#scenario [data-key=devices]").press("Enter")
        wait_until(page, address)


def test_what_cannot_start_says_so_and_the_text_stays(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    page.goto(site)
    expect(page.locator("#failed")).to_contain_text("pyodide.asm.wasm could not", timeout=60_000)
    expect(page.locator("#failed")).to_contain_text("The charts show the defaults")
    expect(page.locator("#prefill-decode .prose").first).to_be_visible()
    context.close()


class Cdn:
    """Answers for the public CDN out of the offline site, one file altered if so wished."""

    def __init__(self, folder: Path, context: BrowserContext, altered: str = "") -> None:
        self.files, self.altered = folder / "course" / "x" / "pyodide", altered
        self.asked: list[str] = []
        context.route(re.compile("^https://"), self._answer)
        context.route("**/course/x/", self._page)

    def _page(self, route: Route) -> None:
        text = (self.files.parent / "index.html").read_text(encoding="utf-8")
        text = text.replace('"pyodide/numpy', f'"{runtime.CDN_NUMPY}numpy')
        route.fulfill(
            body=text.replace('"pyodide/', f'"{runtime.CDN_CORE}'), content_type="text/html"
        )

    def _answer(self, route: Route) -> None:
        self.asked.append(route.request.url)
        name = route.request.url.rpartition("/")[2]
        body = (self.files / name).read_bytes() + (b" " if name == self.altered else b"")
        kind = "application/wasm" if name.endswith("wasm") else "application/octet-stream"
        route.fulfill(body=body, content_type=kind, headers={"Access-Control-Allow-Origin": "*"})


def test_from_the_cdn_it_takes_the_pinned_files(browser: Browser, site: str, folder: Path) -> None:
    context = browser.new_context(viewport=DESKTOP)
    cdn = Cdn(folder, context)
    page = context.new_page()
    page.goto(site)
    wait_until(page, LIVE, PATIENCE_S)
    assert sorted(cdn.asked) == sorted(runtime.addresses(offline=False)["files"])
    context.close()


def test_a_file_of_the_cdn_that_is_another_is_refused(
    browser: Browser, site: str, folder: Path
) -> None:
    context = browser.new_context(viewport=DESKTOP)
    Cdn(folder, context, altered="python_stdlib.zip")
    page = context.new_page()
    page.goto(site)
    expect(page.locator("#failed")).to_contain_text(
        "python_stdlib.zip could not be fetched, or is not the file", timeout=60_000
    )
    context.close()
