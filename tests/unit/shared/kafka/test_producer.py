"""The producer with callers that await delivery reports, on a simulated client."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer, NotWrittenError

SECONDS = 60


class Client:
    """Reports one record at each poll, unless it is silent."""

    def __init__(self, error: KafkaError | None = None, silent: bool = False) -> None:
        self.error = error
        self.silent = silent
        self.refusal: BaseException | None = None
        self.waiting: list[Callable[[KafkaError | None, None], None]] = []

    def produce(self, _topic: str, _value: bytes, *, headers: Any, on_delivery: Any) -> None:
        if self.refusal:
            raise self.refusal
        self.waiting.append(on_delivery)

    def poll(self, _seconds: float) -> int:
        time.sleep(0.001)
        if self.silent or not self.waiting:
            return 0
        self.waiting.pop(0)(self.error, None)
        return 1

    def __len__(self) -> int:
        return len(self.waiting)

    def purge(self, blocking: bool) -> None:
        self.error, self.silent = KafkaError(KafkaError._PURGE_QUEUE), False

    def flush(self, _seconds: float) -> int:
        return len(self.waiting)


def run(clients: list[Client], act: Callable[[AwaitedProducer], Any], ack_seconds: float = SECONDS) -> Any:
    waiting = iter(clients)

    async def main() -> Any:
        producer = AwaitedProducer({}, ack_seconds, lambda _: next(waiting))  # type: ignore[arg-type,return-value]
        try:
            return await act(producer)
        finally:
            await producer.close()

    return asyncio.run(main())


async def send(producer: AwaitedProducer) -> None:
    await producer.send(Topic.COLLECTED, [b"1", b"2"], [])


async def no_longer_stalled(producer: AwaitedProducer) -> None:
    async with asyncio.timeout(SECONDS):
        while producer.stalled:  # noqa: ASYNC110  # no event to wait for
            await asyncio.sleep(0.01)


def test_it_returns_when_every_record_is_confirmed() -> None:
    client = Client()
    run([client], send)
    assert client.waiting == []


def test_a_failed_record_fails_the_send() -> None:
    with pytest.raises(NotWrittenError):
        run([Client(KafkaError(KafkaError._MSG_TIMED_OUT))], send)


def test_a_full_queue_fails_the_send_at_once() -> None:
    client = Client()
    client.refusal = BufferError("full")
    with pytest.raises(NotWrittenError):
        run([client], send)


def test_silence_fails_the_send_after_the_time_and_stalls_until_a_confirmation() -> None:
    client = Client(silent=True)

    async def act(producer: AwaitedProducer) -> None:
        with pytest.raises(NotWrittenError):
            await send(producer)
        assert producer.stalled
        client.silent = False
        await no_longer_stalled(producer)

    run([client], act, ack_seconds=0.1)


def test_a_client_in_fatal_state_is_replaced_and_its_records_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, fresh = Client(silent=True), Client()

    async def act(producer: AwaitedProducer) -> None:
        first = asyncio.create_task(send(producer))
        await asyncio.sleep(0)
        spent.refusal = KafkaException(KafkaError(KafkaError._FATAL))
        with pytest.raises(NotWrittenError):
            await send(producer)
        with pytest.raises(NotWrittenError):
            await first
        await send(producer)
        later = time.monotonic() + SECONDS + 1
        monkeypatch.setattr("shared.kafka.producer.time", SimpleNamespace(monotonic=lambda: later))
        await no_longer_stalled(producer)

    run([spent, fresh], act)
