"""The table, in moto and DynamoDB Local: everything written is read back in order, in any amount."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from pipelines.control.observe.dynamodb import _MOST_BYTES, Item, Store
from shared.dynamodb.client import StoreError


def table_of(request: pytest.FixtureRequest) -> str:
    return "".join(letter for letter in request.node.name if letter.isalnum())


@pytest.fixture
def store(url: str, request: pytest.FixtureRequest) -> Store:
    """A table for one test."""
    made = Store(table_of(request), url)
    made.ensure()
    return made


def test_bodies_come_back_in_order_of_their_keys(store: Store) -> None:
    items = [Item("card/acme", f"{at:010d}", bytes([at]) * 20_000) for at in range(100)]
    store.put([*reversed(items), Item("card/other", "1", b"x")])
    assert list(store.query("card/acme")) == items, "several pages of the table"
    assert list(store.query("card/acme", f"{7:010d}", f"{9:010d}")) == items[7:10]
    assert list(store.query("card/nobody")) == []


def test_a_later_write_takes_the_place_of_the_former_one(store: Store) -> None:
    store.put([Item("a", "1", b"one"), Item("a", "1", b"two")])
    assert store.get("a", "1") == b"two", "also in one call, which the service would refuse to take whole"
    store.put([Item("a", "1", b"three", int(time.time()) + 600)])
    assert store.get("a", "1") == b"three"
    store.delete("a", "1")
    store.delete("a", "1")
    assert store.get("a", "1") is None


def test_a_body_larger_than_an_item_is_whole(store: Store) -> None:
    long = bytes(range(256)) * 4_000
    store.put([Item("a", "1", long), Item("a", "2", b"short")])
    assert [item.body for item in store.query("a")] == [long, b"short"]
    store.put([Item("a", "1", long[::-1])])
    assert store.get("a", "1") == long[::-1]
    store.put([Item("a", "1", b"short again")])
    assert store.get("a", "1") == b"short again"


LONG = bytes(range(256)) * 4_000


def parts(store: Store) -> list[int]:
    """Lengths of the parts that are stored."""
    return [len(item.body) for item in store.query("a#parts")]


def test_rewriting_a_long_body_leaves_no_part_of_the_former_one(
    store: Store, url: str, request: pytest.FixtureRequest
) -> None:
    for at in range(3):
        store.put([Item("a", "1", LONG[at:]), Item("a", "2", b"short")])
    assert parts(store) == [350_000, 350_000, len(LONG) - 700_002]
    next_process = begun(url, request)
    next_process.put([Item("a", "1", LONG[:400_000])])
    assert (parts(next_process), next_process.get("a", "1")) == ([350_000, 50_000], LONG[:400_000])
    next_process.put([Item("a", "1", b"short again")])
    assert (parts(next_process), next_process.get("a", "1")) == ([], b"short again")
    next_process.put([Item("a", "1", LONG)])
    next_process.delete("a", "1")
    assert (parts(next_process), next_process.get("a", "1")) == ([], None)


@pytest.mark.parametrize("new", [LONG[::-1], b"short", None], ids=["long", "short", "deleted"])
def test_a_reader_that_has_the_old_head_reads_the_new_body(store: Store, new: bytes | None) -> None:
    store.put([Item("a", "1", b"first"), Item("a", "2", LONG)])
    reading = store.query("a")
    assert next(reading).body == b"first", "and the answer with both heads is there"
    if new is None:
        store.delete("a", "2")
    else:
        store.put([Item("a", "2", new)])
    assert [item.body for item in reading] == ([] if new is None else [new])


class Undeleting(Store):
    """A table that refuses deletions of single rows for a while."""

    def refuse(self) -> Callable[[], None]:
        """Let deletions fail until the returned function is called."""
        sent = self._client.delete_item

        def refused(**_: Any) -> Any:
            raise ClientError({"Error": {"Code": "InternalServerError"}}, "DeleteItem")

        def again() -> None:
            self._client.delete_item = sent

        self._client.delete_item = refused
        return again


@pytest.mark.usefixtures("store")
def test_parts_that_cannot_be_deleted_fail_no_write_and_go_with_the_next_one(
    url: str, request: pytest.FixtureRequest
) -> None:
    store = Undeleting(table_of(request), url)
    store.put([Item("a", "1", LONG)])
    again = store.refuse()
    store.put([Item("a", "1", LONG)])
    assert (len(parts(store)), store.get("a", "1")) == (6, LONG)
    again()
    store.put([Item("b", "1", b"any")])
    assert (len(parts(store)), store.get("a", "1")) == (3, LONG)


def test_the_table_of_a_former_start_is_kept(store: Store, url: str, request: pytest.FixtureRequest) -> None:
    store.put([Item("a", "1", b"\x00\xff")])
    again = Store(table_of(request), url)
    again.ensure()
    assert again.get("a", "1") == b"\x00\xff"


@pytest.mark.parametrize(
    ("repeated", "count"), [(13_000, 12), pytest.param(20_000, 20, marks=pytest.mark.proof)]
)
def test_a_body_larger_than_a_transaction_is_whole(store: Store, repeated: int, count: int) -> None:
    long = bytes(range(256)) * repeated
    assert len(long) > _MOST_BYTES
    store.put([Item("a", "1", long), *(Item("b", f"{at:02d}", long[:300_000]) for at in range(count))])
    assert store.get("a", "1") == long
    assert [len(item.body) for item in store.query("b")] == [300_000] * count


def begun(url: str, request: pytest.FixtureRequest) -> Store:
    found = Store(table_of(request), url)
    found.begin()
    return found


@pytest.mark.usefixtures("store")
def test_nothing_is_written_once_a_later_process_has_begun(url: str, request: pytest.FixtureRequest) -> None:
    older = begun(url, request)
    older.put([Item("a", "1", b"old"), Item("a", "2", b"old")])
    older.begin()
    assert not older.superseded
    newer = begun(url, request)
    assert newer.get("a", "1") == b"old"
    with pytest.raises(StoreError, match="another observe has begun"):
        older.put([Item("a", "1", b"stale"), Item("a", "3", b"stale")])
    with pytest.raises(StoreError, match="another observe has begun"):
        older.delete("a", "2")
    assert (older.superseded, newer.superseded) == (True, False)
    newer.put([Item("a", "2", b"new")])
    assert [item.body for item in newer.query("a")] == [b"old", b"new"]


@pytest.mark.usefixtures("store")
def test_a_write_before_the_begin_is_refused_and_supersedes_nothing(
    url: str, request: pytest.FixtureRequest
) -> None:
    begun(url, request)
    early = Store(table_of(request), url)
    with pytest.raises(StoreError, match="has not begun with its table yet"):
        early.put([Item("quiet", "1", b"window")])
    assert (early.superseded, early.get("quiet", "1")) == (False, None)
    early.begin()
    early.put([Item("quiet", "1", b"window")])
    assert (early.superseded, early.get("quiet", "1")) == (False, b"window")


class BegunMeanwhile(Store):
    """Begins while its first write is in flight."""

    def begin_during_a_write(self) -> None:
        send = self._client.transact_write_items

        def late(**asked: Any) -> Any:
            self._client.transact_write_items = send
            self.begin()
            return send(**asked)

        self._client.transact_write_items = late


@pytest.mark.usefixtures("store")
def test_a_write_that_the_begin_overtakes_supersedes_nothing(
    url: str, request: pytest.FixtureRequest
) -> None:
    begun(url, request)
    early = BegunMeanwhile(table_of(request), url)
    early.begin_during_a_write()
    with pytest.raises(StoreError, match="has not begun with its table yet"):
        early.put([Item("quiet", "1", b"window")])
    assert not early.superseded
    early.put([Item("quiet", "1", b"window")])
    assert early.get("quiet", "1") == b"window"


@pytest.mark.usefixtures("store")
def test_threads_of_one_process_write_at_once(url: str, request: pytest.FixtureRequest) -> None:
    process = begun(url, request)
    with ThreadPoolExecutor(4) as threads:
        writes = [
            threads.submit(process.put, [Item(f"t{name}", f"{at:03d}", b"x") for at in range(100)])
            for name in range(4)
        ]
        for write in writes:
            write.result()
    assert [len(list(process.query(f"t{name}"))) for name in range(4)] == [100] * 4


def test_a_table_that_is_away_is_said_to_be(url: str) -> None:
    missing = Store("nowhere", url)
    for use in (
        lambda: missing.get("a", "1"),
        lambda: list(missing.query("a")),
        lambda: missing.put([Item("a", "1", b"")]),
    ):
        with pytest.raises(StoreError, match="table nowhere"):
            use()
    with pytest.raises(StoreError, match="cannot be created"):
        Store("meter", "http://127.0.0.1:9").ensure()
