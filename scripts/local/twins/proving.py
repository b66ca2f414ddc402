"""Sends events through one local side only, whatever the weights, and compares what arrives byte for byte."""

import asyncio
import threading
import time
from typing import Final

import aiohttp
import msgspec
from aiohttp import web

from pipelines.control.deploy.backend import Proof
from pipelines.control.provision.live_nodes import WINDOW_MS, LiveNodes
from scripts.local.addresses import HOST
from scripts.local.side import Side
from scripts.local.warmup.warmup import own_documents
from shared.contracts.documents import Document
from shared.contracts.heartbeats import lacking
from shared.contracts.publish_plan import Records, records_of, tombstones_of
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.config_topic import publish
from shared.kafka.consumer_lag import topic_ends
from shared.kafka.tail import Tail
from shared.runtime.clock import wall_clock

_NAME: Final = "hifi-proof"
_KEY: Final = "hifi-proof-key"
_PUBLISH_SECONDS: Final = 65.0
_END_SECONDS: Final = 8.0
_RETRY_SECONDS: Final = 0.5
_OPEN_SECONDS: Final = 60.0
"""So long a request that is answered 401 is sent again: documents need a few seconds to reach the nodes."""

_EXAMPLES: Final = 5
_TEXTS: Final = (
    '{"n":%d,"price":1.10,"big":123456789012345678901234567890}',
    '{"n":%d,"text":"\\u00e9\\/ \\"q\\" \\ud83d\\ude00"}',
    '{"n":%d, "twice":1, "twice":2 }',
    '{"n":%d,"list":[1.0E+2,-0.0,[],{},null,true]}',
)
"""Data that a parser and writer of JSON would change."""


class _Arrived(msgspec.Struct):
    id: str
    data: msgspec.Raw


_decoder = msgspec.json.Decoder(list[_Arrived])


def documents(url: str) -> tuple[Document, ...]:
    """Source, destination and pipe of a proof: hifi's own, as those of the warm-up."""
    return own_documents(_NAME, _KEY, url)


def data_of(number: int) -> bytes:
    """The data of an event."""
    return (_TEXTS[number % len(_TEXTS)] % number).encode()


class Comparison:
    """The events that were sent, and what became of them. May be used from two threads."""

    def __init__(self) -> None:
        self._sent: dict[str, bytes] = {}
        self._arrivals: dict[str, int] = {}
        self._changed: set[str] = set()
        self._refused: list[str] = []
        self._lock = threading.Lock()

    def sent(self, event: str, data: bytes) -> None:
        """An event was acknowledged."""
        with self._lock:
            self._sent[event] = data

    def refused(self, why: str) -> None:
        """An event was not taken."""
        with self._lock:
            self._refused.append(why)

    def arrived(self, event: str, data: bytes, expected: bytes) -> None:
        """An event arrived."""
        with self._lock:
            self._arrivals[event] = self._arrivals.get(event, 0) + 1
            if data != expected:
                self._changed.add(event)

    def proof(self) -> Proof:
        """The proof as far as it is known now."""
        with self._lock:
            whole = self._arrivals.keys() - self._changed
            doubled = {event for event, times in self._arrivals.items() if times > 1}
            missing = sorted(self._sent.keys() - self._arrivals.keys())
            examples = [*self._refused, *(f"{each} arrived changed" for each in sorted(self._changed))]
            examples += [f"{each} arrived more than once" for each in sorted(doubled)]
            examples += [f"{each} has not arrived" for each in missing]
            return Proof(
                sent=len(self._sent),
                arrived=len(whole & self._sent.keys()),
                doubled=len(doubled),
                changed=len(self._changed),
                refused=len(self._refused),
                examples=tuple(examples[:_EXAMPLES]),
            )


class Proving:
    """One proof of one side, in a thread of its own until `end`."""

    def __init__(self, side: Side, events: int) -> None:
        self._side, self._events = side, events
        self._found = Comparison()
        self._run = f"{time.time_ns():x}"
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def proof(self) -> Proof:
        """The proof as far as it is known now.

        Raises:
            Exception: what kept the proof from going on.
        """
        if self._failure is not None:
            raise self._failure
        return self._found.proof()

    def finish(self) -> None:
        """Take its documents back, and listen no more, in the background; what was found stays."""
        self._over.set()

    def end(self) -> None:
        """Finish, and wait for it."""
        self.finish()
        self._thread.join(_END_SECONDS)

    def _work(self) -> None:
        try:
            asyncio.run(self._prove())
        except Exception as error:  # the caller sees it
            self._failure = error

    async def _prove(self) -> None:
        application = web.Application(client_max_size=16 * 1024 * 1024)
        application.router.add_post("/{path:.*}", self._take)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, HOST, self._side.sink_port).start()
        found = documents(f"http://{HOST}:{self._side.sink_port}/")
        try:
            source, *others = found
            await asyncio.to_thread(self._publish, records_of(others))
            await self._in_force()
            await asyncio.to_thread(self._publish, records_of([source]))
            await self._send()
            # Not a thread that waits for the event: it would keep the process from ending.
            while not self._over.is_set():  # noqa: ASYNC110
                await asyncio.sleep(_RETRY_SECONDS)
        finally:
            await asyncio.to_thread(self._publish, tombstones_of(found))
            await runner.cleanup()

    def _publish(self, records: Records) -> None:
        publish(self._side.bootstrap, _NAME, records, _PUBLISH_SECONDS)

    async def _in_force(self) -> None:
        """Wait until route and transmit use the pipe: an event that collect took before would match none.

        A node that does not say what it uses is not waited for longer than _OPEN_SECONDS.
        """
        until = time.monotonic() + _OPEN_SECONDS
        end = topic_ends(admin_client(self._side.bootstrap))[Topic.CONFIG]
        nodes = LiveNodes()
        tail = Tail(
            bootstrap=self._side.bootstrap,
            client_id=_NAME,
            topic=Topic.HEARTBEATS,
            window_ms=WINDOW_MS,
            take=nodes.take,
        ).start()
        try:
            while lacking("pipe", end - 1, nodes.usage(wall_clock())):
                if self._over.is_set() or time.monotonic() > until:
                    return
                await asyncio.sleep(_RETRY_SECONDS)
        finally:
            await asyncio.to_thread(tail.stop)

    async def _send(self) -> None:
        headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/cloudevents+json"}
        opened = time.monotonic() + _OPEN_SECONDS
        async with aiohttp.ClientSession(headers=headers) as session:
            for number in range(self._events):
                event, data = f"{self._run}-{number}", data_of(number)
                head = {"specversion": "1.0", "id": event, "source": "hifi-proof", "type": "proof"}
                body = msgspec.json.encode({**head, "data": msgspec.Raw(data)})
                while not await self._post(session, event, data, body, last=time.monotonic() > opened):
                    if self._over.is_set():
                        return
                    await asyncio.sleep(_RETRY_SECONDS)

    async def _post(
        self, session: aiohttp.ClientSession, event: str, data: bytes, body: bytes, *, last: bool
    ) -> bool:
        """Whether that event is settled; it is sent again while the side may still become ready for it."""
        try:
            async with session.post(f"{self._side.collect_url}/v1/events", data=body) as reply:
                if reply.status == web.HTTPAccepted.status_code:
                    self._found.sent(event, data)
                    return True
                why = f"{event} was answered {reply.status}"
        except aiohttp.ClientError as error:
            why = f"{event} was not answered: {error}"
        if last:
            self._found.refused(why)
        return last

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        for each in _decoder.decode(body if body.startswith(b"[") else b"[" + body + b"]"):
            run, _, number = each.id.partition("-")
            if run == self._run and number.isdigit():
                self._found.arrived(each.id, bytes(each.data), data_of(int(number)))
        return web.Response(status=204)
