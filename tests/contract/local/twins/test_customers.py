"""The edge of twins reads customers' keys from the table of documents."""

from uuid import uuid4

from scripts.local.twins.customers import key_digests
from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import SEALED_PREFIX, Source, key_digest, sealed
from shared.dynamodb.document_reader import DocumentReader
from shared.dynamodb.document_table import DocumentTable


def test_a_customer_is_known_by_the_digests_of_all_keys_of_all_its_sources(dynamodb_local: str) -> None:
    name = f"customers-{uuid4().hex[:8]}"
    table = DocumentTable(name, dynamodb_local)
    table.ensure()
    for tenant, sources in (
        ("acme", {"shop": ["first-key", "second-key"], "app": ["third-key"]}),
        ("globex", {"web": ["other-key"]}),
    ):
        changes = [
            Change(
                key=DocumentKey("source", source),
                document=sealed(Source(name=source, tenant=tenant, write_keys=keys)),
            )
            for source, keys in sources.items()
        ]
        table.write(tenant, changes, by="ann", at_ms=1)
    found = key_digests(DocumentReader(name, dynamodb_local), ["acme", "nobody"])
    wanted = {key_digest(key).removeprefix(SEALED_PREFIX) for key in ("first-key", "second-key", "third-key")}
    assert {tenant: set(keys) for tenant, keys in found.items()} == {"acme": wanted, "nobody": set()}
