"""Of two observes with one table only the one that began last has any effect."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.observe.minutes import ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.service_process import stop_all
from tests.harness.waiting import eventually


@pytest.fixture
def start(topics: str, dynamodb_local: str, tmp_path: Path) -> Iterator[Callable[[], ObserveProcess]]:
    """Starts processes with one table of DynamoDB Local: moto's transactions are not for several at once."""
    started: list[ObserveProcess] = []

    def begin() -> ObserveProcess:
        log = tmp_path / f"{len(started)}.log"
        started.append(ObserveProcess(topics, dynamodb_local, log, store_table=tmp_path.name))
        eventually(started[-1].ready)
        return started[-1]

    yield begin
    stop_all(started)


def test_the_older_one_ends_its_work_and_leaves_the_table_to_the_newer_one(
    topics: str, start: Callable[[], ObserveProcess]
) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    older = start()
    card = settled(older, minute)
    newer = start()
    eventually(lambda: "another observe has begun with the same table" in older.log.read_text())
    assert not older.ready()
    assert older.get("/v1/now")["behind"]
    assert older.ask("/v1/quiet/none", "DELETE")[0] == 404, "it is not started again: it still answers"
    assert settled(newer, minute) == card
    side.whole(ids(5, 9), minute, "p")
    side.read()
    side.audit()
    eventually(lambda: newer.card(minute)["total"] == newer.card(minute)["delivered"] == 9)
    assert older.card(minute) == card
    assert (newer.ready(), older.stop()) == (True, 0)
