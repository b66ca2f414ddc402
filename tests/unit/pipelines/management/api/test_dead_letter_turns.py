"""A request about dead letters reads its tenant's pipes in its turn only: they may be large."""

from pipelines.management.api.dead_letters import OF_TENANT, DeadLetters
from shared.contracts.document_items import StoredDocument
from tests.unit.pipelines.management.api.whole_app import NOW_MS, Client, app_over, played


class Table:
    """Counts how often the pipes of a tenant are read."""

    def __init__(self) -> None:
        self.reads = 0

    def live(self, tenant: str, kind: str) -> list[StoredDocument]:
        del tenant, kind
        self.reads += 1
        return []


def test_what_is_refused_for_want_of_a_turn_has_read_no_pipes() -> None:
    table, letters = Table(), DeadLetters("127.0.0.1:1", lambda: NOW_MS)
    root = "/v1/tenants/busy/dead-letters"

    async def scene(client: Client) -> None:
        for method, path, body in (
            ("GET", root, None),
            ("GET", f"{root}/0/1", None),
            ("POST", f"{root}/replay", {"letters": ["0/1"]}),
        ):
            refused = await client.ask(method, path, "owner@busy", body)
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")

    with letters.turn("busy"), letters.turn("busy"):
        assert OF_TENANT == 2
        played(app_over(table, dead_letters=letters), scene)
    assert table.reads == 0
