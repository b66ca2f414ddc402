"""The edge sends some customers to one side by the digests of their write keys, whatever the weights are."""

import pytest

from scripts.local.twins.traffic import NotTakingError, PinnedTenant
from shared.contracts.documents import SEALED_PREFIX, key_digest
from tests.contract.local.twins.running_edge import ALL_BLUE, Running, is_up, needs_haproxy
from tests.harness.waiting import eventually

pytestmark = needs_haproxy

ACME, GLOBEX = "acme-write-key", "globex-write-key"


def pinned(side: str, *keys: str) -> PinnedTenant:
    """A customer with these keys, pinned to a side."""
    return PinnedTenant(side=side, keys=[key_digest(key).removeprefix(SEALED_PREFIX) for key in keys])


def by_key(running: Running) -> dict[str, set[str]]:
    """The sides that answer requests with each customer's key, and without any key."""
    return {key: {running.get(key=key) for _ in range(5)} for key in (ACME, GLOBEX, "")}


def test_a_customer_goes_to_a_side_without_weight_by_the_digest_of_its_key_and_no_other_does(
    running: Running,
) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME, "an-older-key")})
    assert by_key(running) == {ACME: {"green"}, GLOBEX: {"blue"}, "": {"blue"}}
    assert running.get(key="an-older-key") == "green"
    running.traffic.set_weights(ALL_BLUE, pinned={"globex": pinned("green", GLOBEX)})
    assert by_key(running) == {ACME: {"blue"}, GLOBEX: {"green"}, "": {"blue"}}
    running.traffic.set_weights({"blue": 50, "green": 50})
    assert running.shares(20) == {"blue": 10, "green": 10}
    assert running.traffic.state().pinned == {}
    running.traffic.set_weights(ALL_BLUE)
    assert by_key(running) == {ACME: {"blue"}, GLOBEX: {"blue"}, "": {"blue"}}


def test_pinned_customers_outlive_haproxy_and_go_elsewhere_when_their_side_is_down(running: Running) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    running.restart()
    assert by_key(running)[ACME] == {"green"}
    running.services["green"].end()
    eventually(lambda: not is_up(running, "green"))
    assert by_key(running)[ACME] == {"blue"}


def test_no_customer_is_pinned_to_a_side_that_is_not_ready(running: Running) -> None:
    running.services["green"].healthy = False
    eventually(lambda: not is_up(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    assert running.traffic.state().pinned == {}


def test_an_edge_keeps_no_key_that_could_be_used(running: Running) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    for file in running.twins.edge.root.rglob("*"):
        if file.is_file():
            assert ACME.encode() not in file.read_bytes(), file
