"""Documents written by a later version of hifi, which this version cannot read."""

from typing import Final

import msgspec

from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Document
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import row_key
from tests.contract.provision.conftest import TABLE

_LATER: Final = b'{"kind":"stream","name":"of a later version"}'


def rewrite(endpoint: str, tenant: str, key: DocumentKey, document: Document | None = None) -> None:
    """Change the content of a document's newest version in place; None makes it unreadable."""
    spec = _LATER if document is None else msgspec.json.encode(document)
    dynamodb_client(endpoint).update_item(
        TableName=TABLE,
        Key=row_key(tenant, str(key)),
        UpdateExpression="SET spec = :spec",
        ExpressionAttributeValues={":spec": {"S": spec.decode()}},
    )
