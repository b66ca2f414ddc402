"""A request about dead letters reads and applies its tenant's pipes only in its turn: they may be large."""

import asyncio

from pipelines.management.api.dead_letters import OF_TENANT, DeadLetters
from shared.contracts import headers as h
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter, Filter, LeadsTo, letter_of
from shared.dead_letters.replayed import ReplayedLetters
from tests.unit.pipelines.management.api.whole_app import NOW_MS, Client, Gate, app_over, comes, played


class Table:
    """Counts the reads of a tenant's pipes; reads of a letter's pipe wait at a gate."""

    def __init__(self) -> None:
        self.reads, self.gate = 0, Gate()

    def get(self, tenant: str, key: DocumentKey) -> None:
        assert (tenant, key) == ("busy", DocumentKey("pipe", "p"))
        self.gate.wait()

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


class OneLetter(DeadLetters):
    """Finds a letter without brokers."""

    def one(self, leads_to: LeadsTo, wanted: Filter) -> tuple[DeadLetter, ReplayedLetters]:
        assert wanted.places is not None
        ((partition, offset),) = wanted.places
        headers: h.Headers = [(h.TENANT, b"busy"), (h.PIPE, b"p")]
        found = letter_of(LetterKey(partition, offset, NOW_MS), None, b"{}", headers, leads_to)
        return found, ReplayedLetters()


def test_masks_and_transform_of_a_letter_are_applied_in_its_turn() -> None:
    table, letters = Table(), OneLetter("127.0.0.1:1", lambda: NOW_MS)
    path = "/v1/tenants/busy/dead-letters/0/1"

    async def scene(client: Client) -> None:
        asked = [asyncio.create_task(client.ask("GET", path, "viewer@busy")) for _ in range(OF_TENANT)]
        try:
            await comes(lambda: table.gate.waiting == OF_TENANT)
            refused = asyncio.create_task(client.ask("GET", path, "viewer@busy"))
            await comes(lambda: refused.done() or table.gate.waiting > OF_TENANT)
            assert table.gate.waiting == OF_TENANT
            assert ((await refused).status_code, (await refused).headers["Retry-After"]) == (429, "1")
        finally:
            table.gate.open()
        assert [each.status_code for each in await asyncio.gather(*asked)] == [200] * OF_TENANT

    played(app_over(table, dead_letters=letters), scene)
