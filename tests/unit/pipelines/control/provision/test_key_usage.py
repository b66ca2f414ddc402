"""Bounds on the uses of write keys that a provisioner remembers, and on those that it writes at a time."""

from typing import cast

from confluent_kafka import Message

from pipelines.control.provision.key_usage import KeyUsageWriter
from shared.contracts.key_usage import STORED_MS, KeyUse, encode
from shared.dynamodb.item_store import ItemStore

BEGAN_MS, DAY_MS = 1_000_000_000, 86_400_000
MANY = 10_000


class World:
    """A table that counts its requests, each of which takes time, and a writer."""

    def __init__(self, request_ms: int = 0) -> None:
        self.now_ms, self.request_ms = BEGAN_MS, request_ms
        self.requests = 0
        self.stored: dict[str, int] = {}
        self.writer = KeyUsageWriter(cast(ItemStore[int], self), "blue", lambda: self.now_ms)

    def get(self, _partition: str, sort: str) -> int | None:
        self._request()
        return self.stored.get(sort)

    def put(self, _partition: str, sort: str, at_ms: int) -> None:
        self._request()
        self.stored[sort] = at_ms

    def _request(self) -> None:
        self.requests += 1
        self.now_ms += self.request_ms

    def use(self, *sources: str, at_ms: int | None = None) -> None:
        at = self.now_ms if at_ms is None else at_ms
        self.writer.take([Message(value=encode([KeyUse("acme", each, "key", at) for each in sources]))])

    def requests_of_a_write(self) -> int:
        before = self.requests
        self.writer.write()
        return self.requests - before


def test_a_writer_that_only_takes_keeps_the_recent_keys() -> None:
    world = World()
    for day in range(10):
        world.use("steady", *(f"job-{day}-{number}" for number in range(100)))
        world.now_ms += DAY_MS
    world.use("steady", "new")
    assert len(world.writer) == 2
    world.writer.write()
    assert world.stored == {"steady/key/blue": world.now_ms, "new/key/blue": world.now_ms}


def test_a_use_that_is_read_late_is_written_all_the_same() -> None:
    world = World()
    world.use("shop", at_ms=BEGAN_MS - 3 * STORED_MS)
    world.use("other")
    world.writer.write()
    assert world.stored["shop/key/blue"] == BEGAN_MS - 3 * STORED_MS


def test_many_keys_are_written_in_many_turns() -> None:
    world = World()
    sources = [f"source-{number}" for number in range(MANY)]
    world.use(*sources)
    while requests := world.requests_of_a_write():
        assert requests <= 100
    assert len(world.stored) == MANY


def test_a_slow_table_takes_few_keys_in_a_turn_and_all_in_the_end() -> None:
    world = World(request_ms=50)
    world.use(*(f"source-{number}" for number in range(20)))
    for _ in range(20):
        began = world.now_ms
        world.writer.write()
        assert world.now_ms - began <= 400
    assert len(world.stored) == 20


def test_keys_that_need_no_request_do_not_hold_up_others() -> None:
    world = World()
    steady = [f"steady-{number}" for number in range(200)]
    world.use(*steady)
    while world.requests_of_a_write():
        pass
    world.use(*steady, "new")
    assert world.requests_of_a_write() == 2
    assert "new/key/blue" in world.stored
