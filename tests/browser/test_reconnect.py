"""A lost connection: the page goes on by itself, in the state that it had."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import COLUMN, bring, running, wait_live, wait_until

SOCKETS = """
const Plain = WebSocket;
window.__sockets = [];
window.WebSocket = class extends Plain { constructor(...a) { super(...a); __sockets.push(this); } };
"""


def open_at(browser: Browser, url: str) -> Page:
    page = browser.new_context(viewport={"width": 1360, "height": 1000}).new_page()
    page.add_init_script(SOCKETS)
    page.goto(url)
    wait_live(page)
    return page


def cut(page: Page) -> None:
    page.evaluate("() => __sockets.at(-1).close()")


def moves(page: Page, slug: str, key: str) -> None:
    """A slider is followed by its summary."""
    card = page.locator(f"#{slug} .widget")
    before = card.locator(".summary").inner_text()
    card.locator(f"input[data-key={key}]").first.press("ArrowRight")
    expect(card.locator(".summary")).not_to_have_text(before)


@pytest.mark.parametrize("mode", ["", "&present=1&section=memory"])
def test_a_cut_connection_is_taken_up_again_and_nothing_is_drawn_anew(
    browser: Browser, mode: str
) -> None:
    # Tokens of a second stand for a page that has been open for longer than theirs.
    with running("--session-token-expiration", "1") as server:
        page = open_at(browser, f"{server.url}?tokens=4096{mode}")
        if mode:
            page.keyboard.press("PageDown")
        card = bring(page, "memory") if not mode else page.locator("#memory .widget")
        card.evaluate("(card) => { card.dataset.untouched = 'yes'; }")
        time.sleep(2)
        cut(page)
        expect(page.locator("#lost")).to_be_hidden(timeout=10_000)
        wait_until(page, "__sockets.length === 2 && __sockets.at(-1).readyState === 1")
        moves(page, "memory", "tokens")
        assert card.get_attribute("data-untouched") == "yes"
        page.context.close()


def test_what_came_while_the_page_was_away_is_sent_again(browser: Browser) -> None:
    with running() as server:
        page = open_at(browser, f"{server.url}?tokens=4096")
        card = bring(page, "memory")
        # What the server has sent meanwhile is lost on the way.
        page.evaluate("() => { __sockets.at(-1).onmessage = () => {}; }")
        mark = ["sequences", "marks", "x"]
        before = card.locator(".summary").inner_text()
        assert page.evaluate(COLUMN, mark) == [4096]
        card.locator("input[data-key=tokens]").first.press("ArrowRight")
        time.sleep(1)
        expect(card.locator(".summary")).to_have_text(before)
        assert page.evaluate(COLUMN, mark) == [4096]
        cut(page)
        expect(card.locator(".summary")).not_to_have_text(before)
        assert page.evaluate(COLUMN, mark)[0] > 4096
        page.context.close()


def test_a_restarted_server_gets_the_page_back_in_the_state_of_its_address(
    browser: Browser,
) -> None:
    with running() as server:
        page = open_at(browser, f"{server.url}?tokens=4096")
        moves(page, "prefill-decode", "batch")
        wait_until(page, "location.search.includes('batch=')")
        shown = page.locator("#prefill-decode .summary").inner_text()
    expect(page.locator("#lost")).to_be_visible(timeout=15_000)
    with running(port=server.port):
        expect(page.locator("#lost")).to_be_hidden(timeout=60_000)
        wait_live(page)
        expect(page.locator("#prefill-decode .summary")).to_have_text(shown)
        assert "tokens=4096" in page.url
        moves(page, "prefill-decode", "batch")
        page.context.close()
