"""A try of many pipes reads them one by one, and its pages are bounded in bytes as well."""

from collections.abc import Iterator
from typing import Any, Final

from pipelines.management.api.rollouts import Rollouts
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import Destination, Document, Pipe, Source, kind_of
from shared.dynamodb.document_reader import PAGE_BYTES
from tests.unit.pipelines.management.api.whole_app import Client, app_over, played

PIPES: Final = 25
LETTERS: Final = 400_000
"""Length of the event's data."""


def stored(document: Document) -> StoredDocument:
    key = DocumentKey(kind_of(document), document.name)
    return StoredDocument(tenant="t", key=key, version=1, document=document, by="ann", at_ms=0)


class Table:
    """A source with many pipes to one destination, and a pipe of another source between each two."""

    def __init__(self) -> None:
        self.read = 0
        self.asked: list[DocumentKey] = []
        ends: list[Document] = [
            Source(name="s", tenant="t", write_keys=[]),
            Destination(name="d", tenant="t", options={"url": "https://example.com/hook"}),
        ]
        self._ends = {each.key: each for each in map(stored, ends)}
        self._pipes = [
            stored(Pipe(name=f"p{n:02d}{source}", tenant="t", source=source, destination="d"))
            for n in range(PIPES)
            for source in ("other", "s")
        ]

    def get(self, tenant: str, key: DocumentKey) -> StoredDocument | None:
        assert tenant == "t"
        self.asked.append(key)
        return self._ends.get(key)

    def live(self, tenant: str, kind: str, after: str | None) -> Iterator[StoredDocument]:
        assert (tenant, kind) == ("t", "pipe")
        for each in self._pipes:
            if after is None or each.key.name > after:
                self.read += 1
                yield each


def test_pages_end_by_bytes_go_on_after_their_last_pipe_and_read_no_further() -> None:
    table = Table()
    event = {"specversion": "1.0", "id": "1", "source": "/a", "type": "x", "data": "x" * LETTERS}
    nothing: Any = None

    async def scene(client: Client) -> None:
        found: list[str] = []
        query = ""
        while True:
            read = table.read
            body = {"event": event, "source": "s"}
            answer = await client.ask("POST", f"/v1/tenants/t/try?limit=200{query}", "viewer@t", body)
            assert answer.status_code == 200, answer.text
            items, following = answer.json()["items"], answer.json()["next"]
            assert {(each["leaves"], each["destination"]["name"]) for each in items} == {(True, "d")}
            assert len(answer.content) < PAGE_BYTES + 2 * LETTERS
            assert table.read - read <= 2 * len(items) + 2
            found += [each["pipe"] for each in items]
            if following is None:
                break
            query = f"&cursor={following}"
        assert found == [f"p{n:02d}s" for n in range(PIPES)]
        unknown = await client.ask("POST", "/v1/tenants/t/try", "viewer@t", body | {"source": "other"})
        assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/source")

    played(app_over(table, rollouts=Rollouts(nothing, lambda: 0)), scene)
    sources = [key for key in table.asked if key.kind == "destination"]
    assert len(sources) <= len(table.asked) / 2, "a destination is read once a page"
