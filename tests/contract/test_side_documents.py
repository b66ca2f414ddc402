"""Documents written for a side, over DynamoDB Local and real brokers."""

from pathlib import Path
from uuid import uuid4

import pytest

from scripts.documents.publication import publication
from scripts.documents.side_documents import SideDocuments
from scripts.documents.store import DocumentsError, DocumentStore, TableAddress
from shared.contracts.documents import Destination, Document, Pipe, Source
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import wall_clock
from shared.runtime.settings import LOCAL
from tests.harness.provision_process import provisioned
from tests.harness.waiting import free_port


def store(table: str, endpoint: str, open_seconds: float = 20) -> DocumentStore:
    address = TableAddress(side=LOCAL, table=table, endpoint=endpoint)
    return DocumentStore(address, by="test", clock=wall_clock, open_seconds=open_seconds)


@pytest.fixture
def tenant() -> str:
    """One of the test's own: the topic keeps its documents from test to test."""
    return f"t{uuid4().hex[:8]}"


def destination(tenant: str, timeout: float) -> Destination:
    return Destination(name=tenant, tenant=tenant, timeout_seconds=timeout)


def test_documents_put_are_published_and_removed_are_gone_when_the_call_returns(
    topics: str, dynamodb_local: str, tmp_path: Path, tenant: str
) -> None:
    with provisioned(topics, dynamodb_local, tmp_path) as settings:
        documents = SideDocuments(store(settings["HIFI_DOCUMENTS_TABLE"], dynamodb_local), topics)
        written: list[Document] = [
            Source(name=tenant, tenant=tenant, write_keys=[f"write-key-of-{tenant}"]),
            destination(tenant, 5),
            Pipe(name=tenant, tenant=tenant, source=tenant, destination=tenant),
        ]
        keys = {f"{kind}/{tenant}".encode() for kind in ("source", "destination", "pipe")}
        documents.put(written)
        with publication(topics) as topic:
            assert keys <= topic.entries().keys()
        documents.put(written)  # as they are: nothing to wait for
        documents.remove(written)
        with publication(topics) as topic:
            assert not keys & topic.entries().keys()
        documents.remove(written)


def test_a_change_of_somebody_else_in_between_is_not_overwritten(
    topics: str, dynamodb_local: str, tenant: str
) -> None:
    """Without a provisioner: the write fails before there is anything to wait for."""
    table = DocumentTable(tenant, dynamodb_local)
    table.ensure()
    table.adopt(LOCAL, [])
    documents = SideDocuments(store(tenant, dynamodb_local), topics)
    seen = documents.snapshot()
    mine, theirs = destination(tenant, 5), destination(tenant, 7)
    other = documents.snapshot()
    store(tenant, dynamodb_local).write(tenant, next(iter(other.writes([other.step(theirs)])))[1])
    with pytest.raises(DocumentsError, match=f"destination/{tenant} was changed by somebody else"):
        documents.apply([seen.step(mine)], seen)
    assert documents.snapshot().catalogue.destinations == {tenant: theirs}


def test_without_a_provisioner_a_write_stays_in_the_table_and_its_writer_is_told(
    topics: str, dynamodb_local: str, tenant: str
) -> None:
    table = DocumentTable(tenant, dynamodb_local)
    table.ensure()
    table.adopt(LOCAL, [])
    seen = SideDocuments(store(tenant, dynamodb_local), topics).snapshot()
    ((_, changes),) = seen.writes([seen.step(destination(tenant, 5))])
    written = store(tenant, dynamodb_local).write(tenant, changes)
    with (
        publication(topics) as topic,
        pytest.raises(DocumentsError, match=f"not published within 1 s: destination/{tenant} version 1"),
    ):
        topic.wait(written, seconds=1)


def test_a_table_that_no_provisioner_opened_is_named(dynamodb_local: str) -> None:
    for endpoint in (dynamodb_local, f"http://127.0.0.1:{free_port()}"):
        with pytest.raises(DocumentsError, match=r"has not opened the table nothing at .*`hifi doctor`"):
            store("nothing", endpoint, open_seconds=1).current()
