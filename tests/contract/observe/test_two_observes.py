"""Of two observes with one table only the one that started last has any effect."""

from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.waiting import eventually


def test_the_older_one_ends_its_work_and_leaves_the_table_to_the_newer_one(topics: str, start: Start) -> None:
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
