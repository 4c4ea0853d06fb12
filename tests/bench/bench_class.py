"""A class on one process: all open the page at once, then each moves a slider once a second.

Readers are websockets without a browser, on the same machine as the server.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.browser.conftest import running

SIZES = (30, 100)
MOVES = 10
_TOKEN = re.compile(r'"token":"([^"]+)"')


class Reader:
    """One open page that moves section 1's batch."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        socket.protocol.set_nodelay(True)  # as browsers do
        self._card = ""
        self._sent = 0
        self.latencies_ms: list[float] = []

    @classmethod
    async def arrive(cls, port: int) -> Reader:
        """Fetch the page and take up its session, as a browser does."""
        address = f"127.0.0.1:{port}/app"
        client = AsyncHTTPClient(max_clients=1_000)
        answer = await client.fetch(HTTPRequest(f"http://{address}", request_timeout=120))
        token = _TOKEN.search(answer.body.decode())
        assert token, "the page has no session token"
        reader = cls(
            await websocket_connect(
                HTTPRequest(f"ws://{address}/ws", request_timeout=120),
                subprotocols=["bokeh", token.group(1)],
            )
        )
        await reader._message("ACK")
        await reader._send("PULL-DOC-REQ", {})
        document = await reader._message("PULL-DOC-REPLY")
        reader._card = next(_ids_of(document, "Card"))
        await reader._tell({"visible": True})
        return reader

    async def move(self, batch: int) -> None:
        """Move the slider and wait for what comes of it."""
        begin = time.perf_counter()
        await self._tell({"set": {"batch": batch}})
        await self._message("OK", str(self._sent))  # the changes come before it
        self.latencies_ms.append(1e3 * (time.perf_counter() - begin))

    async def _tell(self, data: dict[str, Any]) -> None:
        values = {"type": "map", "entries": [["model", {"id": self._card}], ["data", _map(data)]]}
        event = {
            "kind": "MessageSent",
            "msg_type": "bokeh_event",
            "msg_data": {"type": "event", "name": "data_event", "values": values},
        }
        await self._send("PATCH-DOC", {"events": [event]})

    async def _send(self, kind: str, content: dict[str, Any]) -> None:
        self._sent += 1
        for part in ({"msgid": str(self._sent), "msgtype": kind}, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def _message(self, kind: str, answers: str = "") -> Any:
        """The content of the next message of a kind, to a request; others are read and left."""
        while True:
            header = json.loads(await self._text())
            await self._text()
            content = json.loads(await self._text())
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._text()
            if header["msgtype"] == kind and answers in ("", header.get("reqid")):
                return content

    async def _text(self) -> Any:
        part = await self._socket.read_message()
        assert part is not None, "the server closed the connection"
        return part


def _map(data: dict[str, Any]) -> dict[str, Any]:
    entries = [[key, _map(v) if isinstance(v, dict) else v] for key, v in data.items()]
    return {"type": "map", "entries": entries}


def _ids_of(part: Any, class_name: str) -> Iterator[str]:
    """The ids of all components of a class in a document."""
    if isinstance(part, dict):
        if part.get("attributes", {}).get("class_name") == class_name:
            yield part["id"]
        for value in part.values():
            yield from _ids_of(value, class_name)
    elif isinstance(part, list):
        for value in part:
            yield from _ids_of(value, class_name)


async def _class(port: int, size: int) -> tuple[float, list[float]]:
    """Seconds until all have their page, and all latencies of their moves."""
    begin = time.perf_counter()
    readers = await asyncio.gather(*(Reader.arrive(port) for _ in range(size)))
    opened_s = time.perf_counter() - begin

    async def move(reader: Reader, place: int) -> None:
        for i in range(MOVES):
            await asyncio.sleep((place / size if i == 0 else 0) + 1.0)
            await reader.move(16 + (place + i) % 100)

    await asyncio.gather(*(move(reader, i) for i, reader in enumerate(readers)))
    return opened_s, [ms for reader in readers for ms in reader.latencies_ms]


def _memory_mb(pid: int) -> float:
    """Resident memory of a process, where /proc tells; NaN elsewhere."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found.group(1)) / 1e3 if found else float("nan")


def rows() -> Iterator[tuple[str, str, str]]:
    """Classes of growing size, each on a server of its own."""
    for size in SIZES:
        with running() as server:
            before = _memory_mb(server.process.pid)
            opened_s, latencies = asyncio.run(_class(server.port, size))
            each = (_memory_mb(server.process.pid) - before) / size
            ordered = sorted(latencies)
            p95 = ordered[int(0.95 * len(ordered))]
            yield f"{size} readers open at once, until all have a page", f"{opened_s:.1f} s", ""
            yield (
                f"{size} readers, a move a second each, until answered",
                f"{statistics.median(ordered):.0f} / {p95:.0f} ms over {len(ordered)}",
                "≤ 100 ms",
            )
            yield f"memory a reader, of {size}", f"{each:.1f} MB", ""
