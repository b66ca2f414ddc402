"""The elasticsearch connector keeps every connector's promises, and reads the status of each document."""

import base64
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.connectors.conformance import ALL, Conformance, ends, lead, reasons, send
from tests.contract.connectors.http_far import Asked, HttpFar
from tests.contract.transmit_rig import Rig, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import event, flat_batch, row

KEY = "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw=="
FILTER = "filter_path=items.*.status,items.*.error.type"
PASSWORD = "correct horse: battery"


class Index(HttpFar):
    """An index with a bulk API: NDJSON in pairs of lines, a status for each, documents overwritten by id."""

    connector = "elasticsearch"
    per_event: ClassVar[bool] = True
    overwrites: ClassVar[bool] = True
    secrets: ClassVar[dict[str, str]] = {"secret://t/es": KEY}
    authorization = f"ApiKey {KEY}"

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[str, dict[str, Any]] = {}
        self.gone = False

    def options(self, port: int | None = None) -> dict[str, Any]:
        url = f"http://127.0.0.1:{port or self.port}/es/"
        return {"url": url, "index": "events", "api_key": "secret://t/es"}

    async def take(self, asked: Asked) -> bytes:
        if asked.headers.get("Authorization") != self.authorization:
            return reply(401, body='{"error":{"type":"security_exception"},"status":401}')
        if asked.headers["Content-Type"] != "application/x-ndjson" or not asked.body.endswith(b"\n"):
            return reply(400, body='{"error":{"type":"illegal_argument_exception"},"status":400}')
        assert asked.target == f"/es/events/_bulk?{FILTER}"
        lines = [msgspec.json.decode(line) for line in asked.body.splitlines()]
        items = [self._item(action, doc) for action, doc in zip(lines[::2], lines[1::2], strict=True)]
        return reply(200, body=msgspec.json.encode({"items": items}).decode())

    def _item(self, action: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
        ((operation, about),) = action.items()
        status, error = self._written(operation, about["_id"], document)
        return {operation: {"status": status} | ({"error": {"type": error}} if error else {})}

    def _written(self, operation: str, key: str, document: dict[str, Any]) -> tuple[int, str]:
        if self.gone:
            return 404, "index_not_found_exception"
        status = self.status_of(document["id"])
        if status != 200:
            names = {429: "es_rejected_execution_exception", 400: "mapper_parsing_exception"}
            return status, names.get(status, "unavailable_shards_exception")
        if operation == "create" and key in self.documents:
            return 409, "version_conflict_engine_exception"
        created = key not in self.documents
        self.documents[key] = document
        return (201, "") if created else (200, "")

    def received(self) -> list[str]:
        return [document["id"] for document in self.documents.values()]


@pytest.fixture
def far() -> Iterator[Index]:
    index = Index()
    yield index
    index.close()


class TestElasticsearch(Conformance):
    """Runs the suite against an index."""


def test_a_document_is_the_event_with_its_data_whatever_white_space_it_had(far: Index, rig: Rig) -> None:
    value = b'{\r\n "text": "a\\nb",\n "n": 12345678901234567890.10 }'
    rig.deliver(flat_batch([row(1, value=value)]))
    (document,) = far.documents.values()
    assert document["id"] == "e1"
    assert document["data"] == {"text": "a\nb", "n": 12345678901234567890.10}
    assert b"12345678901234567890.10 }" in far._server.bodies[0]


def test_events_of_two_sources_with_one_id_are_two_documents(far: Index, rig: Rig) -> None:
    rig.deliver(flat_batch([row(1, id="same"), row(2, id="same")]))
    assert far.received() == ["same", "same"]


def test_create_takes_a_document_that_is_there_for_delivered(far: Index, rig: Rig) -> None:
    lead(rig, far, "p1")
    rig.lead("p1", "elasticsearch", far.options() | {"operation": "create"})
    assert ends(send(rig)) == ends(send(rig)) == dict.fromkeys(ALL, "delivered")
    assert len(far.documents) == len(ALL)


def test_create_leaves_what_an_earlier_pass_wrote_and_a_replay_says_so(far: Index, rig: Rig) -> None:
    rig.lead("p1", "elasticsearch", far.options() | {"operation": "create"})
    rig.deliver(flat_batch([row(1, value=b'{"n":1}')]))
    rig.forget_deliveries()  # as after a crash that lost the receipts
    assert set(ends(rig.deliver(flat_batch([row(1, attempt=2, first_try=5)]))).values()) == {"delivered"}
    rows = rig.deliver(flat_batch([row(1, value=b'{"n":2}', replay="r1"), row(2, replay="r1")]))
    assert ends(rows) == {"e1": "dead", "e2": "delivered"}
    assert [text.partition(":")[0] for text in reasons(rows)] == ["exists"]
    assert far.documents[event(1).key.hex()]["data"] == {"n": 1}


def test_a_refused_document_is_dead_with_the_clusters_word_for_it_and_no_more(far: Index, rig: Rig) -> None:
    far.refuse({"e3"})
    (record,) = records(send(rig))
    said = dict(record.headers)
    assert record.topic == Topic.DEAD_LETTER
    assert said[h.STATUS] == b"400"
    assert said[h.REASON] == b"refused: the destination answered 400 (mapper_parsing_exception)"


def test_an_index_that_is_gone_and_a_wrong_key_are_dead_letters(far: Index, rig: Rig) -> None:
    far.gone = True
    assert reasons(send(rig)) == ["refused: the destination answered 404 (index_not_found_exception)"] * len(
        ALL
    )
    rig.secrets.values = {"secret://t/es": "wrong"}
    assert reasons(send(rig)) == ["refused: the destination answered 401"] * len(ALL)


def test_basic_authentication(far: Index, rig: Rig) -> None:
    far.authorization = "Basic " + base64.b64encode(f"hifi:{PASSWORD}".encode()).decode()
    rig.secrets.values = {"secret://t/password": PASSWORD}
    options = {"url": far.options()["url"], "index": "events"}
    rig.lead("p1", "elasticsearch", options | {"username": "hifi", "password": "secret://t/password"})
    assert set(ends(send(rig)).values()) == {"delivered"}


@pytest.mark.parametrize("body", ["", "{", "[]", '{"items":[]}', '{"items":[{"index":{"status":201}}]}'])
def test_a_success_without_a_status_for_each_event_is_a_failure(far: Index, rig: Rig, body: str) -> None:
    far._server.answer(f"/es/events/_bulk?{FILTER}", reply(200, body=body))
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "retry")
    assert {text.partition(":")[0] for text in reasons(rows)} == {"bad_answer"}
