"""A customer's contact receives the alarms without a restart."""

import pytest

from pipelines.control.observe.alarms.service import open_alarms
from pipelines.control.observe.dynamodb import Store
from shared.runtime.clock import wall_clock
from tests.contract.documents.test_commands_documents import words
from tests.contract.observe.alarms.conftest import refused, stalled
from tests.contract.observe.alarms.far import far
from tests.harness.command_line import Hifi
from tests.harness.waiting import eventually
from tests.unit.pipelines.control.observe.alarm_inputs import settings


@pytest.fixture
def store(own_tables: str) -> Store:
    found = Store("alarms", own_tables)
    found.ensure()
    return found


def test_a_contact_is_applied_shown_used_and_deleted(topics: str, hifi: Hifi, store: Store) -> None:
    with far() as shop:
        document = f"{{kind: contact, name: shop-ops, tenant: shop, webhook: '{shop.url}/alarms'}}"
        alarms = open_alarms(settings(bootstrap=topics, allow_loopback=True), store, wall_clock)
        try:
            applied = hifi.run("apply", "-", stdin=document)
            assert words(applied) == [["contact", "shop-ops", "1", "created"]], applied.stderr
            shown = hifi.run("get", "contact")
            assert words(shown) == [["contact", "shop-ops", "1", "shop", "in", "force", f"{shop.url}/alarms"]]

            def told() -> bool:
                alarms.update(refused())
                alarms.update(stalled())  # resolved, until it is found again
                return bool(shop.requests)

            eventually(told, 60, "the contact received nothing")
            assert shop.requests[0][0] == "/alarms"
        finally:
            alarms.close()
            deleted = hifi.run("delete", "contact", "shop-ops")
    assert deleted.returncode == 0, deleted.stderr


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("webhook: 'http://example.com/hook'", "$.webhook: is not https"),
        ("webhook: 'https://10.0.0.1/hook'", "$.webhook: leads to a private address"),
        ("webhook: 'https://me:pass@example.com/'", "$.webhook: holds a user or a password"),
        ("webhook: 'https://'", "$.webhook: is not a URL"),
        ("webhook: 'https://example.com/', secret: 'secret://other/key'", "$.secret: is not its tenant's"),
        (
            "webhook: 'https://example.com/', secret: whsec_abc",
            "$.secret: what is given is not allowed here; the name of a secret",
        ),
        ("webhok: 'https://example.com/'", "did you mean 'webhook'?"),
    ],
)
def test_a_contact_that_cannot_be_used_is_refused(hifi: Hifi, fields: str, said: str) -> None:
    done = hifi.run("apply", "-", stdin=f"{{kind: contact, name: c, tenant: shop, {fields}}}")
    assert done.returncode == 1
    assert said in done.stderr
    assert "whsec_abc" not in done.stdout + done.stderr
