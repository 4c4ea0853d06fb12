"""The static site's parts that need no browser: document, turns, pack and downloads."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widgets import page
from widgets.base import Job, SectionResult
from widgets.jobs import JobRunner
from widgets.site import runtime
from widgets.site.fetch import FetchError, from_npm, kept
from widgets.site.pack import pack
from widgets.site.reader import Reader
from widgets.site.turns import Turns

RESULT = SectionResult("", (), {}, {})


class Posted:
    """What a reader's document hands to the page."""

    def __init__(self) -> None:
        self.pages: list[dict[str, Any]] = []
        self.patches: list[tuple[dict[str, Any], dict[str, bytes]]] = []

    def __call__(self, kind: str, text: str, buffers: list[tuple[str, bytes]]) -> None:
        if kind == "page":
            self.pages.append(json.loads(text))
        else:
            self.patches.append((json.loads(text), dict(buffers)))


def opened(query: str = "", near: tuple[str, ...] = ()) -> tuple[Reader, Posted]:
    posted = Posted()
    reader = Reader(posted)
    reader.open(query, "light", near)
    return reader, posted


def said(reader: Reader, root: str, message: dict[str, Any]) -> None:
    """The page says something through the component that a root shows, in Bokeh's words."""
    model = next(root_ for root_ in reader.document.roots if root_.name == root)
    entries = [["model", {"id": model.id}], ["data", {"type": "map", "entries": _entries(message)}]]
    event = {"type": "event", "name": "data_event", "values": {"type": "map", "entries": entries}}
    patch = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
    reader.receive(json.dumps({"events": [patch]}))


def _entries(message: dict[str, Any]) -> list[Any]:
    return [
        [key, {"type": "map", "entries": _entries(value)} if isinstance(value, dict) else value]
        for key, value in message.items()
    ]


def messages(posted: Posted) -> list[Any]:
    return [event for patch, _ in posted.patches for event in patch["events"]]


def test_the_document_has_a_root_for_the_bar_and_one_for_each_section() -> None:
    _, posted = opened()
    names = {"scenario", *map(page.root_name, page.section_classes())}
    assert set(posted.pages[0]["roots"]) == names
    ids = {root["id"] for root in posted.pages[0]["document"]["roots"]}
    assert set(posted.pages[0]["roots"].values()) == ids


def test_nothing_in_the_document_lies_outside_of_the_sites_folder() -> None:
    _, posted = opened(near=tuple(page.section_classes()))
    text = json.dumps(posted.pages)
    assert "https://" not in text.replace("https://docs.bokeh.org", "")
    assert "static/extensions/panel/" in text


def test_only_what_is_near_is_drawn_at_first() -> None:
    sizes = [len(json.dumps(opened(near=near)[1].pages)) for near in ((), ("memory",))]
    assert sizes[1] > sizes[0] + 20_000
    assert len(json.dumps(opened(near=("no-such-section",))[1].pages)) < sizes[0] + 1000


def test_an_embed_has_the_bar_and_its_own_section_only() -> None:
    _, posted = opened("?section=memory&embed=1", near=("prefill-decode",))
    assert set(posted.pages[0]["roots"]) == {"scenario", "memory"}


def test_one_message_is_answered_by_one_patch() -> None:
    reader, posted = opened()
    said(reader, "scenario", {"set": {"devices": 2}})
    assert len(posted.patches) == 1
    text = json.dumps(posted.patches)
    assert "devices=2" in text, "the address that the page shows"
    assert [event for event in messages(posted) if event["kind"] == "ColumnDataChanged"]


def test_every_array_that_a_patch_mentions_travels_with_it() -> None:
    reader, posted = opened()
    source = reader.document.select_one({"name": "roofline.marks"})
    values = np.linspace(0.0, 1.0, 200)
    reader.change(lambda: source.update(data=dict.fromkeys(source.data, values)))
    buffers = posted.patches[0][1]
    assert buffers
    assert set(buffers.values()) == {values.tobytes()}
    text = json.dumps(posted.patches[0][0])
    assert all(f'"id": "{name}"' in text for name in buffers)


def test_a_refusal_reaches_the_page() -> None:
    reader, posted = opened()
    said(reader, "scenario", {"set": {"devices": -1}})
    assert "notices" in json.dumps(posted.patches)


class Clock:
    """Calls what is due when the test says so."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def later(self, work: Callable[[], None], _: float) -> None:
        self.due.append(work)

    def run(self) -> None:
        while self.due:
            self.due.pop(0)()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, list[Callable[[], None]]]:
    """Jobs in turns, with a reader's document; what is in the list is done at the next breath."""
    reader, _ = opened()
    clock, breath = Clock(), list[Callable[[], None]]()
    workplace = Turns(reader, clock.later, lambda: [do() for do in breath] and breath.clear())
    monkeypatch.setattr(JobRunner, "workplace", workplace)
    monkeypatch.setattr("widgets.jobs.TELL_EVERY_S", -1.0)
    return clock, breath


Turned = tuple[Clock, list[Callable[[], None]]]


def test_a_job_begins_when_its_turn_comes_and_tells_how_far_it_is(turns: Turned) -> None:
    clock, _ = turns
    told: list[float] = []
    done: list[object] = []
    run = JobRunner(lambda fraction, _: told.append(fraction), done.append)
    run(Job("a", lambda report: RESULT if report(0.5) else None))
    assert (told, done) == ([0.0], [])
    clock.run()
    assert (told, done) == ([0.0, 0.5], [RESULT])


def test_a_newer_job_is_the_only_one_that_is_worked_on(turns: Turned) -> None:
    clock, _ = turns
    worked: list[str] = []
    done: list[object] = []
    run = JobRunner(lambda *_: None, done.append)
    run(Job("old", lambda _: worked.append("old")))
    run(Job("new", lambda _: worked.append("new") or RESULT))
    clock.run()
    assert (worked, done) == (["new"], [RESULT])


def test_a_cancel_that_comes_at_a_breath_ends_the_job(turns: Turned) -> None:
    clock, breath = turns
    done: list[object] = []
    run = JobRunner(lambda *_: None, done.append)
    breath.append(lambda: run(None))
    run(Job("a", lambda report: RESULT if report(0.1) else None))
    clock.run()
    assert done == []


def test_jobs_of_two_cards_never_overlap(turns: Turned) -> None:
    clock, breath = turns
    order: list[str] = []

    def work(name: str) -> Callable[[Callable[[float], bool]], SectionResult]:
        def run(report: Callable[[float], bool]) -> SectionResult:
            order.append(f"{name} begins")
            report(0.5)
            order.append(f"{name} ends")
            return RESULT

        return run

    first, second = (JobRunner(lambda *_: None, lambda _: None) for _ in range(2))
    breath.append(lambda: second(Job("b", work("b"))))
    first(Job("a", work("a")))
    clock.run()
    assert order == ["a begins", "a ends", "b begins", "b ends"]


def test_the_pack_is_the_same_each_time_and_has_what_the_page_reads() -> None:
    packed = pack()
    assert packed == pack()
    names = set(zipfile.ZipFile(io.BytesIO(packed)).namelist())
    for name in ("core/roofline.py", "content/sources.toml", "static/card.css", "panel/config.py"):
        assert name in names
    assert not [name for name in names if "/tests/" in name or name.endswith((".so", ".pyc"))]


def test_a_download_that_is_another_file_is_refused_and_not_kept(tmp_path: Path) -> None:
    right = hashlib.sha256(b"right").hexdigest()
    with pytest.raises(FetchError, match="expected"):
        kept(tmp_path, "a.bin", right, lambda: b"wrong")
    assert list(tmp_path.iterdir()) == []
    assert kept(tmp_path, "a.bin", right, lambda: b"right") == b"right"
    assert kept(tmp_path, "a.bin", right, lambda: b"not asked again") == b"right"
    (tmp_path / "a.bin").write_bytes(b"spoilt")
    assert kept(tmp_path, "a.bin", right, lambda: b"right") == b"right"


def test_a_registry_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/")
    with pytest.raises(FetchError, match=r"127\.0\.0\.1:9/pyodide/-/pyodide-.*needed once"):
        from_npm("pyodide", runtime.VERSION)


def test_every_file_of_the_cdn_is_of_one_version_and_has_a_hash() -> None:
    said = runtime.addresses(offline=False)
    assert len(said["files"]) == 6
    assert all(url.startswith("https://cdn.jsdelivr.net/") for url in said["files"])
    assert all(runtime.VERSION in url for url in said["files"])
    assert all(len(sums) == len("sha256-") + 44 for sums in said["files"].values())
    assert said["numpy"] in said["files"]


def test_without_the_network_every_address_is_beside_the_page() -> None:
    said = runtime.addresses(offline=True)
    assert all(url.startswith("pyodide/") for url in [said["runtime"], said["numpy"]])
    assert all(url.startswith("pyodide/") for url in said["files"])
