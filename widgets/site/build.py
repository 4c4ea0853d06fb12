"""Writes the folder: the page, its scripts, charts drawn ahead, the Python, and perhaps Pyodide."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
from pathlib import Path

import bokeh
import panel as pn

from widgets.card import STATIC, read_static
from widgets.layout import LAYOUT_NAMES
from widgets.site import ahead, html, pack, runtime

PANEL_URL = "static/extensions/panel/"
BOKEH_URL = "static/"
_STYLE = re.compile(r"static/extensions/panel/[\w./-]+\.css")


def build(out: Path, cache: Path, *, offline: bool) -> str:
    """Make the folder anew; returns a line on what is in it.

    Raises `FetchError` where something pinned cannot be fetched.
    """
    pyodide = runtime.local(cache) if offline else {}
    pn.extension(design="native")
    if out.exists():
        shutil.rmtree(out)
    site = Folder(out)
    for name, content in pyodide.items():
        site.write(f"pyodide/{name}", content)
    site.write("assets/embed.js", (STATIC / "embed.js").read_bytes())
    drawn: dict[str, dict[str, str]] = {}
    for name, theme, text in ahead.drawn_ahead():
        file = site.hashed(f"site/{name}-{theme}.json", text.encode())
        drawn.setdefault(name, {})[theme] = file
    python, note = pack.packed(cache)
    tags = html.script_tags()
    config = {
        "app": site.hashed("site/app.zip", python),
        "worker": site.hashed("site/worker.js", read_static("site-worker.js").encode()),
        "drawn": drawn,
        "names": list(LAYOUT_NAMES),
        **runtime.addresses(offline=offline),
    }
    present = {
        kind: site.hashed(f"site/present.{kind}", text.encode())
        for kind, text in html.present_files().items()
        if text
    }
    site.write("index.html", html.index(config, tags, present).encode())
    for url in [*html.script_files(tags), *site.mentioned(_STYLE)]:
        site.write(url, _source(url).read_bytes())
    return site.summary() + note


def _source(url: str) -> Path:
    """The file that a server would answer with."""
    if url.startswith(PANEL_URL):
        return Path(pn.__file__).parent / "dist" / url.removeprefix(PANEL_URL)
    return Path(bokeh.__file__).parent / "server" / url


class Folder:
    """A folder that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: list[str] = []

    def write(self, name: str, content: bytes) -> str:
        """Write a file; returns its name."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return name

    def hashed(self, name: str, content: bytes) -> str:
        """Write a file with a hash in its name, so that a newer site never meets an older file."""
        stem, dot, ending = name.rpartition(".")
        return self.write(
            f"{stem}-{hashlib.sha256(content).hexdigest()[:10]}{dot}{ending}", content
        )

    def mentioned(self, pattern: re.Pattern[str]) -> list[str]:
        """All that a pattern finds in the page and the charts drawn ahead."""
        found: set[str] = set()
        for path in [self.path / "index.html", *sorted(self.path.glob("site/*.json"))]:
            found.update(pattern.findall(path.read_text(encoding="utf-8")))
        return sorted(found)

    def summary(self) -> str:
        """How large it is, as it lies there and as hosts send it."""
        raw, packed = self.sizes()
        return f"{self.path}/: {raw / 1e6:.1f} MB, {packed / 1e6:.1f} MB gzipped"

    def sizes(self) -> tuple[int, int]:
        """Bytes of all files, raw and gzipped one by one."""
        files = [path.read_bytes() for path in self.path.rglob("*") if path.is_file()]
        return sum(map(len, files)), sum(len(gzip.compress(content, 6)) for content in files)
