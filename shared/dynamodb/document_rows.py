"""The rows of the table `documents`, as DynamoDB's API spells them. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from shared.contracts.document_items import (
    CATALOGUES,
    WRITE_KEYS,
    DocumentKey,
    EncodedVersion,
    StoredDocument,
    VersionSummary,
    deleted_partition,
    history_key,
    history_partition,
)
from shared.contracts.documents import Document
from shared.dynamodb.client import StoreError

TENANT: Final = "tenant"
DOCUMENT: Final = "document"
VERSION: Final = "version"
SEEN: Final = "seen_ms"
"""When a side's provisioner was last at work, epoch milliseconds."""

OWNER: Final = "holder"
"""The tenant that a write key is reserved for."""

_SPEC: Final = "spec"
_BY: Final = "by"
_AT: Final = "at_ms"

_NOT_THERE: Final[Mapping[str, Any]] = {"ConditionExpression": f"attribute_not_exists({TENANT})"}

_decoder = msgspec.json.Decoder(Document)


class UnreadableDocumentError(StoreError):
    """The table answers, but a version of a document in it is none that this version of hifi knows."""

    def __init__(self, tenant: str, key: DocumentKey, version: int, cause: Exception) -> None:
        named = f"{key} version {version} of tenant {tenant}"
        super().__init__(f"{named} cannot be read: {cause}; write it anew, or upgrade hifi")
        self.named = named


def row_key(partition: str, sort: str) -> dict[str, Any]:
    """A row's primary key."""
    return {TENANT: {"S": partition}, DOCUMENT: {"S": sort}}


def _row(each: StoredDocument, partition: str, sort: str) -> dict[str, Any]:
    row = row_key(partition, sort) | {
        VERSION: {"N": str(each.version)},
        _BY: {"S": each.by},
        _AT: {"N": str(each.at_ms)},
    }
    if each.document is None:
        return row
    return row | {_SPEC: {"S": msgspec.json.encode(each.document).decode()}}


def is_deletion(row: Mapping[str, Any]) -> bool:
    """Whether the version in a row is a deletion."""
    return _SPEC not in row


def summary(tenant: str, row: Mapping[str, Any], key: DocumentKey | None = None) -> VersionSummary:
    """The version in a row without its document, which is not decoded; `key` as `stored` takes it."""
    return VersionSummary(
        tenant=tenant,
        key=key or _key(row),
        version=int(row[VERSION]["N"]),
        by=row[_BY]["S"],
        at_ms=int(row[_AT]["N"]),
        deleted=is_deletion(row),
    )


def _key(row: Mapping[str, Any]) -> DocumentKey:
    return DocumentKey(*row[DOCUMENT]["S"].split("/", 1))


def stored(tenant: str, row: Mapping[str, Any], key: DocumentKey | None = None) -> StoredDocument:
    """The version in a row; `key` names its document if the row is one of the history.

    Raises:
        UnreadableDocumentError: if its document is none that this version of hifi knows. Left out, it would
            be deleted.
    """
    key, version = key or _key(row), int(row[VERSION]["N"])
    spec = row.get(_SPEC)
    try:
        document = _decoder.decode(spec["S"]) if spec else None
    except msgspec.MsgspecError as error:
        raise UnreadableDocumentError(tenant, key, version, error) from error
    return StoredDocument(
        tenant=tenant,
        key=key,
        version=version,
        document=document,
        by=row[_BY]["S"],
        at_ms=int(row[_AT]["N"]),
    )


def encoded(tenant: str, row: Mapping[str, Any], key: DocumentKey | None = None) -> EncodedVersion:
    """The version that `stored` gives, with its document as JSON; raises as it does."""
    found = stored(tenant, row, key)
    document = None if found.document is None else msgspec.Raw(msgspec.json.encode(found.document))
    return EncodedVersion(
        tenant=tenant,
        key=found.key,
        version=found.version,
        document=document,
        by=found.by,
        at_ms=found.at_ms,
    )


def added_rows(table: str, each: StoredDocument, *, after: int) -> Iterator[dict[str, Any]]:
    """The part of a transaction that adds a version; it fails if another version came in between.

    Args:
        table: the table's name.
        each: the version.
        after: the version that is among the tenant's documents now; 0 for none. Then the history must not
            have this version: a deletion may have left the documents while the transaction was prepared.
    """
    condition = _at_version(after) if after else _NOT_THERE
    yield {"Put": {"TableName": table, "Item": _row(each, each.tenant, str(each.key)), **condition}}
    kept = _row(each, history_partition(each.tenant), history_key(each.key, each.version))
    yield {"Put": {"TableName": table, "Item": kept, **({} if after else _NOT_THERE)}}


def removed_rows(table: str, deletion: StoredDocument) -> list[dict[str, Any]]:
    """A transaction that takes a deletion from its tenant's documents; it fails unless it is the newest."""
    key, condition = row_key(deletion.tenant, str(deletion.key)), _at_version(deletion.version)
    kept = _row(deletion, deleted_partition(deletion.tenant), str(deletion.key))
    return [
        {"Delete": {"TableName": table, "Key": key, **condition}},
        {"Put": {"TableName": table, "Item": kept}},
    ]


def _at_version(version: int) -> dict[str, Any]:
    values = {":v": {"N": str(version)}}
    return {"ConditionExpression": f"{VERSION} = :v", "ExpressionAttributeValues": values}


def counted_row(table: str, tenant: str, versions: int, at: int | None = None) -> dict[str, Any]:
    """The part of a transaction that moves the version of a tenant's catalogue on.

    Args:
        table: the table's name.
        tenant: the owner of the catalogue.
        versions: how many are added.
        at: the version that the catalogue must have now; 0 for none, None for any.
    """
    values: dict[str, Any] = {":n": {"N": str(versions)}}
    condition = {}
    if at == 0:
        condition = dict(_NOT_THERE)
    elif at is not None:
        values[":at"] = {"N": str(at)}
        condition = {"ConditionExpression": f"{VERSION} = :at"}
    return {
        "Update": {
            "TableName": table,
            "Key": row_key(CATALOGUES, tenant),
            "UpdateExpression": f"ADD {VERSION} :n",
            "ExpressionAttributeValues": values,
            **condition,
        }
    }


def reserved_row(table: str, tenant: str, key: str) -> dict[str, Any]:
    """The part of a transaction that reserves a write key; it fails if the key is another tenant's."""
    return {
        "Put": {
            "TableName": table,
            "Item": row_key(WRITE_KEYS, key) | {OWNER: {"S": tenant}},
            "ConditionExpression": f"attribute_not_exists({TENANT}) OR #owner = :tenant",
            "ExpressionAttributeNames": {"#owner": OWNER},
            "ExpressionAttributeValues": {":tenant": {"S": tenant}},
        }
    }
