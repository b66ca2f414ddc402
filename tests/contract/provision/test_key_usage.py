"""The table holds the time of each write key's last use, as collect reports it."""

from uuid import uuid4

from confluent_kafka import Producer

from shared.contracts.key_usage import STORED_MS, KeyUse, encode, partition, sort_key
from shared.contracts.side_weights import LOCAL
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.kafka.producer import producer_config
from shared.runtime.clock import wall_clock
from tests.contract.provision.conftest import TABLE, Start
from tests.harness.waiting import eventually


def test_a_use_is_written_when_the_table_is_ten_minutes_behind_whatever_is_restarted(
    start: Start, table: DocumentTable, endpoint: str, topics: str
) -> None:
    tenant, now = f"t{uuid4().hex[:8]}", wall_clock()
    producer = Producer(producer_config(topics, "test"))
    items = ItemStore(TABLE, endpoint, int)

    def use(key: str, at_ms: int) -> None:
        producer.produce(Topic.KEY_USAGE, encode([KeyUse(tenant, "s", key, at_ms)]))
        assert producer.flush(120) == 0

    def stored() -> dict[str, int]:
        return dict(items.all(partition(tenant)))

    def sort(key: str) -> str:
        return sort_key("s", key, LOCAL)

    first = now - 2 * STORED_MS
    use("one", first)
    process = start()
    eventually(lambda: stored() == {sort("one"): first}, 60)
    use("one", first + STORED_MS - 1)  # too little later to be worth a write
    producer.produce(Topic.KEY_USAGE, b"no use of keys")
    use("two", now + 3_600_000)  # by a clock that runs ahead
    eventually(lambda: len(stored()) == 2, 60)
    assert stored()[sort("one")] == first
    assert now <= stored()[sort("two")] <= wall_clock()
    process.kill()
    use("one", now)
    use("two", now)
    start()
    eventually(lambda: stored()[sort("one")] == now, 60)
    assert stored()[sort("two")] >= now
