"""After a lost answer the client repeats a conditional write, and the writer recognises it as its own."""

from collections.abc import Iterator

import pytest

from pipelines.management.api.rollouts import Rollouts
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutAction
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.dynamodb.rollout_store import RolloutStore
from tests.harness.recorded_store import RecordedStore, recorded_store

TABLE = "answers"
NOW_MS = 1_000_000


@pytest.fixture
def store(url: str) -> Iterator[RecordedStore]:
    DocumentTable(TABLE, url).ensure()
    with recorded_store(url) as behind:
        yield behind


def test_back_is_one_step_though_the_answer_to_its_write_is_lost(store: RecordedStore) -> None:
    pipe = Pipe(name="lost", tenant="t", source="s", destination="d", rollout=Rollout(steps=[1, 10, 50, 100]))
    found = StoredDocument(
        tenant="t", key=DocumentKey("pipe", "lost"), version=1, document=pipe, by="ann", at_ms=0
    )
    rollouts = Rollouts(RolloutStore(TABLE, store.url), lambda: NOW_MS)
    assert rollouts.request(found, RolloutAction.FINISH).step == 4
    store.taken()
    store.loses.append("PutItem")
    assert rollouts.request(found, RolloutAction.BACK).step == 3
    assert [operation for operation, _ in store.taken()].count("PutItem") == 2, "the answer was lost"
    shown = rollouts.shown(found)
    assert shown is not None and shown.step == 3


def test_what_another_one_wrote_is_still_a_conflict(store: RecordedStore) -> None:
    items = ItemStore(TABLE, store.url, str)
    assert items.put_after("p", "conflict", "mine", 0)
    assert not items.put_after("p", "conflict", "other", 0)
    assert items.get("p", "conflict") == "mine"
    store.loses.append("PutItem")
    assert items.put_after("p", "conflict", "next", 1)
    assert not items.put_after("p", "conflict", "mine", 1)
    assert items.get("p", "conflict") == "next"
