"""Sections in somebody else's page: a course page on another origin, and what tools make of one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from tests.browser.conftest import (
    ROOT,
    Watched,
    running,
    serve_folder,
    wait_until,
)
from tests.browser.test_page import Open, card, readout
from widgets.page import section_classes

pytestmark = pytest.mark.browser
EXAMPLES = ROOT / "examples"
PUBLISHED = "http://localhost:5006"
TALL_ENOUGH = "document.scrollingElement.scrollHeight <= innerHeight"

Host = Callable[[Path], Page]


@pytest.fixture
def open_host(browser: Browser) -> Iterator[Host]:
    """Serve a folder on an origin of its own and open its index; quiet on teardown."""
    opened = []
    servers = []

    def open_(folder: Path) -> Page:
        serving = serve_folder(folder)
        address = serving.__enter__()
        servers.append(serving)
        context = browser.new_context(viewport={"width": 1100, "height": 900})
        watched = Watched(context)
        opened.append((context, watched))
        watched.page.goto(f"{address}/index.html")
        return watched.page

    yield open_
    for context, _ in opened:
        context.close()
    for serving in servers:
        serving.__exit__(None, None, None)
    for _, watched in opened:
        watched.assert_quiet()


def here(folder: Path, server: str, into: Path) -> Path:
    """A copy of an example that points at the server of this test."""
    target = into / folder.name
    shutil.copytree(folder, target)
    for path in target.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(PUBLISHED, server.removesuffix("/app")), encoding="utf-8")
    return target


def frames(page: Page, count: int) -> list[Frame]:
    """The embedded sections, live; each is brought into sight, since they load lazily."""
    places = page.locator("iframe[data-serving]")
    expect(places).to_have_count(count)
    found = []
    for place in places.all():
        place.scroll_into_view_if_needed()
        handle = place.element_handle()
        frame = handle.content_frame() if handle else None
        assert frame
        frame.locator(".readout").first.wait_for()
        found.append(frame)
    return found


def until(frame: Frame, expression: str, timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while not frame.evaluate(f"() => !!({expression})"):
        assert time.monotonic() < deadline, f"still not so: {expression}"
        time.sleep(0.05)


def move(frame: Frame, key: str) -> None:
    """Move a slider and see a readout follow."""
    numbers = frame.locator(".readouts")
    before = numbers.inner_text()
    slider = frame.locator(f"input[data-key={key}]").first
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    expect(numbers).not_to_have_text(before)
    deadline = time.monotonic() + 10
    while numbers.inner_text() == before:
        assert time.monotonic() < deadline, f"no readout followed {key}"
        time.sleep(0.05)


def test_three_sections_on_a_course_page_of_another_origin(
    open_host: Host, server: str, tmp_path: Path
) -> None:
    page = open_host(here(EXAMPLES / "course-page", server, tmp_path))
    prefill, paging, memory = frames(page, 3)
    for frame in (prefill, paging, memory):
        until(frame, TALL_ENOUGH)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    # What the page chose is there, what it locked stays.
    expect(prefill.locator("#fold-words")).to_contain_text("70B textbook on 8 × A100")
    prefill.locator("#fold summary").click()
    expect(prefill.locator("#scenario select[data-key=model]")).to_be_disabled()
    expect(prefill.locator("#scenario select[data-key=weights]")).to_be_enabled()
    until(prefill, TALL_ENOUGH)
    expect(prefill.locator(".prose")).to_have_count(0)
    expect(paging.locator("h2")).to_have_count(0)
    expect(paging.locator("#fold")).to_be_hidden()
    assert memory.locator(".prose").count() == 2
    move(prefill, "batch")
    move(memory, "tokens")


def test_a_frame_that_grows_is_followed(open_host: Host, server: str, tmp_path: Path) -> None:
    page = open_host(here(EXAMPLES / "course-page", server, tmp_path))
    frame = frames(page, 3)[0]
    until(frame, TALL_ENOUGH)
    place = page.locator("iframe").first
    before = place.bounding_box()
    frame.get_by_text("Assumptions").click()
    until(frame, TALL_ENOUGH)
    after = place.bounding_box()
    assert before
    assert after
    assert after["height"] > before["height"] + 50


def test_heights_are_taken_from_the_frames_alone(
    open_host: Host, server: str, tmp_path: Path
) -> None:
    page = open_host(here(EXAMPLES / "course-page", server, tmp_path))
    until(frames(page, 3)[0], TALL_ENOUGH)
    heights = "[...document.querySelectorAll('iframe')].map((frame) => frame.style.height).join()"
    before = page.evaluate(heights)
    page.evaluate("postMessage({ type: 'serving-height', height: 5000 }, '*')")
    # A frame that has gone to another origin no longer speaks for the section.
    page.evaluate(
        """() => new Promise((done) => {
          const stranger = document.createElement("iframe");
          const say = "parent.postMessage({ type: 'serving-height', height: 5000 }, '*')";
          stranger.srcdoc = `<script>${say}<\\/script>`;
          stranger.onload = () => setTimeout(done, 200);
          document.body.append(stranger);
        })"""
    )
    assert page.evaluate(heights).rstrip(",") == before


def test_where_scripts_are_dropped_the_section_is_usable_all_the_same(
    open_host: Host, server: str, tmp_path: Path
) -> None:
    """Moodle and its like keep a teacher's iframe and drop the script."""
    (tmp_path / "index.html").write_text(
        f'<!doctype html><title>Course</title><iframe src="{server}?section=memory&embed=1" '
        'data-serving width="700" height="600" sandbox="allow-scripts allow-same-origin"></iframe>',
        encoding="utf-8",
    )
    page = open_host(tmp_path)
    (frame,) = frames(page, 1)
    assert frame.evaluate("document.scrollingElement.scrollHeight > innerHeight")
    assert frame.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    move(frame, "tokens")


def test_the_embed_button_gives_lines_that_work(
    open_page: Open, open_host: Host, tmp_path: Path
) -> None:
    page = open_page("?batch=64&model=14B").page
    box = card(page, "prefill-decode")
    box.get_by_role("button", name="Embed").click()
    code = box.get_by_label("HTML that embeds this section")
    expect(code).to_contain_text("batch=64")
    box.get_by_label("Keep the scenario fixed").check()
    box.get_by_label("Without the text").check()
    box.get_by_label("Theme of the embedded section").select_option("dark")
    (tmp_path / "index.html").write_text(
        f"<!doctype html><title>Course</title>{code.inner_text()}", encoding="utf-8"
    )
    host = open_host(tmp_path)
    (frame,) = frames(host, 1)
    until(frame, TALL_ENOUGH)
    assert frame.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(frame.locator("input[data-entry=batch]")).to_have_value("64")
    expect(frame.locator("#fold-words")).to_contain_text("14B textbook on 1 × A100")
    expect(frame.locator(".prose")).to_have_count(0)
    shown = readout(page, "prefill-decode", "step").inner_text()
    expect(frame.locator("[data-readout=step] strong")).to_have_text(shown)


def test_links_to_the_rest_open_the_whole_page(open_page: Open) -> None:
    page = open_page("?section=memory&embed=1").page
    hrefs = page.locator(".cite a").evaluate_all("links => links.map((a) => [a.href, a.target])")
    assert hrefs
    assert all(re.search(r"/app#", href) and target == "_blank" for href, target in hrefs)


@pytest.mark.parametrize("slug", list(section_classes()))
def test_a_narrow_frame_never_scrolls_sideways(open_page: Open, slug: str) -> None:
    page = open_page(f"?section={slug}&embed=1").page
    page.set_viewport_size({"width": 320, "height": 800})
    card(page, slug).locator("canvas").first.wait_for(state="attached")
    wait_until(page, "document.scrollingElement.scrollWidth <= 320")
    hidden = page.evaluate(
        """() => [...document.querySelectorAll(".prose table")].filter(
          ({ parentElement: box, offsetWidth }) => offsetWidth > box.clientWidth && box.tabIndex < 0
        ).length"""
    )
    assert hidden == 0, "a table that scrolls can be scrolled with the keyboard"


def test_a_misspelt_embed_says_so_and_shows_the_page(open_page: Open) -> None:
    page = open_page("?section=pagign&embed=1").page
    notice = page.locator("#scenario .notices .notice").first
    expect(notice).to_contain_text("No section is called “pagign”")
    expect(page.locator("h1")).to_be_visible()


def test_a_notice_opens_the_fold_of_an_embed(open_page: Open) -> None:
    page = open_page("?section=memory&embed=1&hide=scenario&devices=-3").page
    notice = page.locator("#fold .notices .notice").first
    expect(notice).to_be_visible()
    expect(notice).to_contain_text("-3")


@pytest.mark.parametrize("setting", ["'none'", "https://course.example"])
def test_a_setting_restricts_who_may_embed(browser: Browser, tmp_path: Path, setting: str) -> None:
    with running(settings={"SERVING_EMBED_ORIGINS": setting}) as server:
        (tmp_path / "index.html").write_text(
            f'<iframe src="{server.url}?section=memory&embed=1"></iframe>', encoding="utf-8"
        )
        with serve_folder(tmp_path) as address:
            context = browser.new_context()
            watched = Watched(context)
            watched.page.goto(f"{address}/index.html")
            time.sleep(1)
            assert any("frame-ancestors" in error for error in watched.errors)
            watched.errors.clear()
            watched.page.goto(server.url)
            watched.page.locator(".readout").first.wait_for()
            context.close()


def test_a_setting_that_is_no_origin_gives_a_message_and_no_blank_page(browser: Browser) -> None:
    with running(settings={"SERVING_EMBED_ORIGINS": "course.example"}) as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.url)
        expect(page.get_by_text("This page could not be built")).to_be_visible()
        context.close()
        assert "SERVING_EMBED_ORIGINS lists origins" in server.stop()


def tool(name: str) -> str:
    """A program that pip put beside this Python."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found, f"{name} is missing; install tests/requirements.txt"
    return found


@pytest.mark.parametrize(
    ("example", "command", "output"),
    [
        ("mkdocs", ["mkdocs", "build", "--quiet"], "site"),
        ("sphinx", ["sphinx-build", "-q", ".", "_build"], "_build"),
        ("hugo", ["hugo", "--quiet"], "public"),
    ],
)
def test_what_a_site_builder_makes_of_the_example_works(
    open_host: Host, server: str, tmp_path: Path, example: str, command: list[str], output: str
) -> None:
    folder = here(EXAMPLES / example, server, tmp_path)
    subprocess.run([tool(command[0]), *command[1:]], cwd=folder, check=True, timeout=60)
    page = open_host(folder / output)
    (frame,) = frames(page, 1)
    until(frame, TALL_ENOUGH)
    expect(frame.locator("h2")).to_have_count(0)
