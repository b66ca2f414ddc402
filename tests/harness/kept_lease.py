"""Asserts that a lease is kept while its holder works."""

from typing import Any

from shared.contracts.control_table import LEASES
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.renewed_lease import RENEWALS
from tests.harness.waiting import eventually


def lease_key(what: str) -> dict[str, Any]:
    """The key of a lease's item."""
    return {TENANT: {"S": LEASES}, DOCUMENT: {"S": what}}


def assert_kept(endpoint: str, table: str, what: str) -> None:
    """Its beat goes on rising for three times the lease, which keeps others from taking it over."""
    client = dynamodb_client(endpoint)

    def item() -> tuple[str, int]:
        row = client.get_item(TableName=table, Key=lease_key(what), ConsistentRead=True)["Item"]
        return row["owner"]["S"], int(row["beat"]["N"])

    owner, beat = item()

    def renewed() -> bool:
        found = item()
        assert found[0] == owner
        return found[1] >= beat + 3 * RENEWALS

    eventually(renewed, what="the lease is renewed")
