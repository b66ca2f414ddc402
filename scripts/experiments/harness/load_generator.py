"""An open-loop load generator: requests leave on schedule, however slow the responses are.

`python -m scripts.experiments.harness.load_generator URL KEY RATE BATCH SECONDS FILE` writes acknowledged ids
to FILE and prints `runs.Sent` as JSON. An event's time is when it was due or, if the generator is late, when
it was made. So waiting for a free connection counts as lag of the chain, and the generator's own lateness is
reported separately.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
import uvloop

from scripts.experiments.harness.http_client import ConnectionPool
from scripts.experiments.harness.percentiles import percentile
from scripts.experiments.harness.runs import Load, Sent
from scripts.load.event_source import BATCH
from scripts.load.records import acked_lines
from scripts.load.telemetry import Telemetry
from shared.runtime.clock import wall_clock

CONNECTIONS = 128
ANSWER_SECONDS = 30.0
_STRUCTURED = "application/cloudevents+json"


class LoadGenerator:
    """Sends one load."""

    def __init__(self, url: str, key: str, load: Load, out: TextIO) -> None:
        parts = urlsplit(url)
        self._pool = ConnectionPool(parts.hostname or "", parts.port or 80, CONNECTIONS)
        self._head = request_head(parts.netloc, key, BATCH if load.batch > 1 else _STRUCTURED)
        self._load = load
        self._out = out
        self._events = Telemetry(uuid4().hex[:12])
        self._slips: list[float] = []
        self._refused: Counter[str] = Counter()
        self._acked = 0
        self._open = 0
        self._done = asyncio.Event()

    async def run(self) -> Sent:
        """Send everything, then wait for the responses up to a limit."""
        began = time.perf_counter()
        requests = round(self._load.rate * self._load.seconds / self._load.batch)
        for number in range(requests):
            due = began + number * self._load.batch / self._load.rate
            await _until(due)
            self._slips.append((time.perf_counter() - due) * 1000)
            self._send()
        await self._answers()
        return Sent(
            events=requests * self._load.batch,
            acked=self._acked,
            seconds=time.perf_counter() - began,
            slip_p99_ms=round(percentile(sorted(self._slips), 99), 1),
            refused=dict(self._refused),
        )

    def _send(self) -> None:
        bundle = self._events.take(self._load.batch, wall_clock())
        body = bundle.body if self._load.batch > 1 else bundle.body[1:-1]  # without the brackets of the array
        self._open += 1
        self._pool.send(b"%s%d\r\n\r\n%s" % (self._head, len(body), body), self._on_answer(bundle.ids))

    def _on_answer(self, ids: list[str]) -> Callable[[int | None], None]:
        def answered(status: int | None) -> None:
            self._open -= 1
            if status == 202:
                self._acked += len(ids)
                self._out.write(acked_lines(ids, wall_clock()))
            else:
                self._refused["no answer" if status is None else str(status)] += len(ids)
            if not self._open:
                self._done.set()

        return answered

    async def _answers(self) -> None:
        deadline = time.perf_counter() + ANSWER_SECONDS
        while self._open and (left := deadline - time.perf_counter()) > 0:
            self._done.clear()
            try:
                await asyncio.wait_for(self._done.wait(), left)
            except TimeoutError:
                self._refused["no answer in time"] += self._open * self._load.batch
        self._pool.close()


async def _until(due: float) -> None:
    """Sleep until a time of `perf_counter`; yields to the event loop even if that has passed."""
    await asyncio.sleep(max(due - time.perf_counter(), 0))


def request_head(host: str, key: str, content_type: str) -> bytes:
    """The head of a request up to the value of content-length."""
    lines = (
        "POST /v1/events HTTP/1.1",
        f"host: {host}",
        f"authorization: Bearer {key}",
        f"content-type: {content_type}",
        "content-length: ",
    )
    return "\r\n".join(lines).encode()


def main() -> None:
    """Send the load that the arguments describe."""
    if len(sys.argv) != 7:
        raise SystemExit("usage: load_generator URL KEY RATE BATCH SECONDS FILE")
    url, key, rate, size, seconds, out = sys.argv[1:]
    load = Load(rate=int(rate), batch=int(size), seconds=float(seconds))
    with Path(out).open("w", encoding="utf-8", newline="\n") as file:
        sent = uvloop.run(_offer(url, key, load, file))
    sys.stdout.buffer.write(msgspec.json.encode(sent))


async def _offer(url: str, key: str, load: Load, out: TextIO) -> Sent:
    return await LoadGenerator(url, key, load, out).run()


if __name__ == "__main__":
    main()
