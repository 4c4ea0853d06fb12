"""A section in JupyterLab, in a frame and live on the notebook's own kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, free_port
from tests.browser.test_embed import PUBLISHED

pytestmark = pytest.mark.browser
NOTEBOOKS = ROOT / "examples" / "notebook"


@contextmanager
def jupyter(folder: Path) -> Iterator[str]:
    """A JupyterLab over a folder, without a password, reachable from this machine only."""
    port = free_port()
    home = folder / "home"
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(home),
        "JUPYTER_DATA_DIR": str(home),
        "IPYTHONDIR": str(home),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--port", str(port)]
    command += ["--ServerApp.token=", "--ServerApp.password=", "--allow-root"]
    command += ["--LabApp.news_url=None", "--LabApp.extension_manager=readonly"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=5):
                    break
            except OSError:
                assert process.poll() is None, "JupyterLab ended at once"
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(15)


def run_all(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/lab/tree/{name}")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


@pytest.fixture
def lab(browser: Browser, tmp_path: Path, server: str) -> Iterator[tuple[Page, str]]:
    for path in NOTEBOOKS.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        local = text.replace(PUBLISHED, server.removesuffix("/app"))
        (tmp_path / path.name).write_text(local, encoding="utf-8")
    with jupyter(tmp_path) as address:
        context = browser.new_context(viewport={"width": 1300, "height": 1200})
        outside: list[str] = []
        context.on("request", lambda request: outside.append(request.url))
        page = context.new_page()
        yield page, address
        context.close()
    local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
    assert [url for url in outside if not url.startswith(local)] == []


def test_a_cell_shows_a_section_in_a_frame(lab: tuple[Page, str]) -> None:
    page, address = lab
    run_all(page, address, "iframe.ipynb")
    frame = page.frame_locator(".jp-OutputArea iframe")
    frame.locator(".readout").first.wait_for(timeout=60_000)
    expect(frame.locator("#fold-words")).to_contain_text("70B textbook on 8 × A100")


def test_a_cell_shows_a_live_section_without_a_server(lab: tuple[Page, str]) -> None:
    page, address = lab
    run_all(page, address, "live.ipynb")
    card = page.locator(".jp-OutputArea .widget")
    card.locator(".readout").first.wait_for(timeout=90_000)
    card.get_by_role("button", name="just show me").click()
    numbers = card.locator(".readouts")
    expect(numbers).not_to_contain_text("?")
    before = numbers.inner_text()
    slider = card.locator("input[data-key=tokens]")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    deadline = time.monotonic() + 15
    while numbers.inner_text() == before:
        assert time.monotonic() < deadline, "no readout followed the slider"
        time.sleep(0.1)
    # The scenario stands above it and drives it.
    bar = page.locator(".jp-OutputArea .scenario")
    bar.locator("select[data-key=model]").select_option(label="8B textbook")
    expect(bar.locator(".sum")).to_contain_text("16 GB")
    assert page.locator(".jp-OutputArea canvas").count() >= 2


def test_the_examples_are_notebooks_that_have_not_been_run() -> None:
    """What a reader opens holds no output of ours."""
    assert shutil.which("jupyter", path=str(Path(sys.executable).parent))
    for path in NOTEBOOKS.glob("*.ipynb"):
        assert '"outputs": []' in path.read_text(encoding="utf-8"), path.name
