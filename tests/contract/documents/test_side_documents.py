"""Documents written through the management API, over DynamoDB Local and real brokers."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from scripts.documents.api_client import ApiClient, DocumentsError, RefusedError, Server
from scripts.documents.bundle import Step, Wanted
from scripts.documents.side_documents import SideDocuments
from scripts.documents.topic import read_catalogue
from shared.contracts.document_items import MOST_CHANGES
from shared.contracts.document_status import (
    GONE_MS,
    DocumentStatus,
    State,
    status_key,
    status_partition,
)
from shared.contracts.documents import Destination, Document, Pipe, Source
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import wall_clock
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.waiting import free_port

OPTIONS = {"url": "http://127.0.0.1:9/"}


def documents_of(settings: dict[str, str], publish_seconds: float = 120) -> SideDocuments:
    server = Server(url=settings["HIFI_SERVER"], token=settings["HIFI_TOKEN"])
    return SideDocuments(ApiClient(server), publish_seconds=publish_seconds)


@pytest.fixture
def tenant() -> str:
    """A tenant of the test's own: the topic keeps its documents from test to test."""
    return f"t{uuid4().hex[:8]}"


def destination(tenant: str, timeout: float = 5, name: str = "") -> Destination:
    return Destination(name=name or tenant, tenant=tenant, timeout_seconds=timeout, options=OPTIONS)


def pipe(tenant: str) -> Pipe:
    return Pipe(name=tenant, tenant=tenant, source=tenant, destination=tenant)


def test_documents_put_are_published_and_removed_are_gone_when_the_call_returns(
    topics: str, management: dict[str, str], tenant: str
) -> None:
    documents = documents_of(management)
    source = Source(name=tenant, tenant=tenant, write_keys=[f"write-key-of-{tenant}"])
    written: list[Document] = [source, destination(tenant), pipe(tenant)]
    keys = {f"{tenant}/{kind}/{tenant}".encode() for kind in ("source", "destination", "pipe")}
    documents.put(written)
    assert keys <= read_catalogue(topics).entries.keys()
    documents.put(written)  # unchanged documents: nothing to wait for
    documents.remove(written)
    assert not keys & read_catalogue(topics).entries.keys()
    documents.remove(written)


def test_a_set_larger_than_one_write_is_checked_whole_before_any_of_it_is_written(
    management: dict[str, str], tenant: str
) -> None:
    documents = documents_of(management)
    many: list[Document] = [destination(tenant, name=f"{tenant}-{n:03}") for n in range(2 * MOST_CHANGES)]
    wanted = [Wanted(document=each) for each in many]
    with pytest.raises(RefusedError, match=f"there is no source '{tenant}'"):
        documents.check([*wanted, Wanted(document=pipe(tenant))])
    assert documents.current(tenant) == []
    steps = documents.write(wanted, documents.check(wanted))
    assert [(str(step.key), step.after) for step in steps] == [(str(each.key), 1) for each in wanted]
    assert len(documents.current(tenant)) == len(many)


def fed(tenant: str, name: str, *keys: str) -> list[Document]:
    """A source with so many pipes that a second one like it goes into another part."""
    source = Source(name=name, tenant=tenant, write_keys=[f"{key}-of-{tenant}" for key in keys])
    pipes = (
        Pipe(name=f"{name}-{at}", tenant=tenant, source=name, destination=tenant, match={"type": [str(at)]})
        for at in range(MOST_CHANGES // 2 + 5)
    )
    return [source, *pipes]


def test_a_set_of_which_one_part_would_be_refused_is_refused_before_any_of_it_is_written(
    management: dict[str, str], tenant: str
) -> None:
    documents = documents_of(management)
    documents.put([destination(tenant), fed(tenant, "a", "one")[0], fed(tenant, "z", "two", "three")[0]])
    there = documents.current(tenant)
    gains, loses = fed(tenant, "a", "one", "two"), fed(tenant, "z", "three")
    with pytest.raises(RefusedError, match="source z has this key until a later one"):
        documents.check([Wanted(document=each) for each in [*gains, *loses]])
    assert documents.current(tenant) == there
    wanted = [Wanted(document=each) for each in [*loses, *gains]]
    assert {step.after for step in documents.write(wanted, documents.check(wanted))} == {1, 2}


def test_a_change_of_somebody_else_in_between_is_not_overwritten(
    management: dict[str, str], tenant: str
) -> None:
    documents = documents_of(management)
    mine, theirs = destination(tenant, 5), destination(tenant, 7)
    steps = documents.check([Wanted(document=mine)])
    documents.put([theirs])
    with pytest.raises(DocumentsError, match=r"another change came first: .*; nothing was written"):
        documents.write([Wanted(document=mine)], steps)
    assert [each.document for each in documents.current(tenant)] == [theirs]


def keyless(tenant: str) -> Wanted:
    """A source that gets a generated write key."""
    return Wanted(document=Source(name=tenant, tenant=tenant, write_keys=["unused-key"]), states_keys=False)


def test_a_part_that_is_refused_names_what_was_written_before_it_and_its_keys_are_there(
    management: dict[str, str], tenant: str
) -> None:
    documents, later = documents_of(management), f"{tenant}-later"
    wanted = [keyless(tenant), Wanted(document=destination(later))]
    steps = documents.check(wanted)
    documents.put([destination(later, 7)])
    keyed: list[Step] = []
    said = f"another change came first: .*; written before that: source/{tenant}; read it, then try again"
    with pytest.raises(DocumentsError, match=said):
        documents.write(wanted, steps, show_key=keyed.append)
    assert [(each.name, (each.write_key or "")[:3]) for each in keyed] == [(tenant, "wk_")]


@pytest.fixture(scope="module")
def lone_api(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """A management API without a provisioner."""
    with running_api(tmp_path_factory.mktemp("alone"), dynamodb_local, allow_loopback="true") as api:
        yield api


@pytest.fixture
def alone(lone_api: ApiProcess) -> dict[str, str]:
    return {
        "HIFI_SERVER": lone_api.url,
        "HIFI_TOKEN": lone_api.operator,
        "HIFI_DOCUMENTS_TABLE": lone_api.table,
        "HIFI_DOCUMENTS_ENDPOINT": lone_api.endpoint,
    }


def test_without_a_provisioner_a_write_stays_in_the_table_and_its_writer_is_told(
    alone: dict[str, str], tenant: str
) -> None:
    documents = documents_of(alone, publish_seconds=1)
    with pytest.raises(DocumentsError, match=f"not published within 1 s: destination/{tenant}"):
        documents.put([destination(tenant)])
    assert [each.document for each in documents.current(tenant)] == [destination(tenant)]


def test_a_source_that_is_not_published_in_time_has_shown_its_write_key(
    alone: dict[str, str], tenant: str
) -> None:
    documents, wanted, keyed = documents_of(alone, publish_seconds=1), [keyless(tenant)], list[Step]()
    with pytest.raises(DocumentsError, match=f"not published within 1 s: source/{tenant}"):
        documents.write(wanted, documents.check(wanted), show_key=keyed.append)
    assert [(each.name, (each.write_key or "")[:3]) for each in keyed] == [(tenant, "wk_")]


def test_a_side_that_is_silent_but_at_work_is_waited_for(alone: dict[str, str], tenant: str) -> None:
    table = DocumentTable(alone["HIFI_DOCUMENTS_TABLE"], alone["HIFI_DOCUMENTS_ENDPOINT"])
    statuses = ItemStore(alone["HIFI_DOCUMENTS_TABLE"], alone["HIFI_DOCUMENTS_ENDPOINT"], DocumentStatus)
    in_force = DocumentStatus(state=State.IN_FORCE, version=1, since_ms=1)
    place = status_partition(tenant), status_key(f"destination/{tenant}", "blue")
    assert statuses.put_after(*place, in_force, 0)
    documents = documents_of(alone, publish_seconds=1)
    for side, at_ms in (("blue", wall_clock()), ("green", wall_clock() - GONE_MS)):
        table.adopt(side, [])
        table.renew_side(side, at_ms)
    documents.put([destination(tenant)])
    table.renew_side("green", wall_clock())
    with pytest.raises(DocumentsError, match=f"not published within 1 s: destination/{tenant}"):
        documents.put([destination(tenant)])


def test_an_api_that_does_not_answer_is_named() -> None:
    documents = documents_of({"HIFI_SERVER": f"http://127.0.0.1:{free_port()}", "HIFI_TOKEN": "x"})
    assert not documents.opened()
    with pytest.raises(DocumentsError, match=r"the management API at http:.* does not answer"):
        documents.tenants()
