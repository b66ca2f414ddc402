"""A stopped rollout raises an alarm for its customer, on the side that stopped it."""

from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutPhase, at_step, halted, state_key
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.rollout_store import RolloutStore
from tests.contract.observe.conftest import Start
from tests.harness.waiting import eventually

TABLE = "documents"


def test_the_customer_is_told_once_why_and_what_to_do(topics: str, start: Start, store_url: str) -> None:
    DocumentTable(TABLE, store_url).ensure()
    store = RolloutStore(TABLE, store_url)
    for pipe, side in (("orders", LOCAL), ("others", "green")):
        going = at_step(Rollout(steps=[1, 10, 100]), 2, 5, revision=0)
        stopped = halted(going, RolloutPhase.STOPPED, 1, 6, "fewer than 95 % were good, at 10 %")
        assert store.put(state_key("acme", pipe), stopped, side) is not None
    observe = start(documents_table=TABLE, documents_endpoint=store_url)
    (alarm,) = eventually(lambda: observe.get("/v1/alarms?tenant=acme&open=true"), 60)
    assert (alarm["kind"], alarm["audience"], alarm["tenant"]) == ("customer", "customer", "acme")
    assert alarm["subject"] == "rollout orders"
    assert "fewer than 95 % were good, at 10 %" in alarm["text"]
    assert "hifi rollout orders resume" in alarm["text"]
    assert observe.get("/v1/alarms?tenant=zoo&open=true") == []
