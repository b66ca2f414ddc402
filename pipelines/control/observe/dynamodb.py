"""A DynamoDB table of byte strings by (pk, sk): observe's persistent state."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError, create_table, dynamodb_client

PK: Final = "pk"
SK: Final = "sk"
BODY: Final = "body"
EXPIRES: Final = "expires"
"""The table's TTL attribute, epoch seconds; DynamoDB deletes the item some time after."""

PART_BYTES: Final = 350_000
"""A longer body is split over several items: DynamoDB's limit is 400 KB."""

_PARTS: Final = "parts"
_BATCH: Final = 25
"""Most items in one BatchWriteItem."""

_PART_SECONDS: Final = 30 * 86_400
"""When parts that were replaced expire."""

_TRIES: Final = 8
_PAUSE_SECONDS: Final = 0.05


class Item(NamedTuple):
    """A body of any length."""

    pk: str
    sk: str
    body: bytes
    expires_s: int | None = None
    """When it expires, epoch seconds; None for never."""


class Store:
    """A table. Every method may be called from any thread, and raises StoreError if the table fails.

    boto3 takes region and credentials from the environment.
    """

    def __init__(self, table: str, endpoint: str | None = None) -> None:
        """`endpoint` is the URL of DynamoDB Local, which takes any credentials; None for AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table = table
        self._makes_table = endpoint is not None

    def ensure(self) -> None:
        """Create the table if the endpoint is local; on AWS the stacks create it."""
        if not self._makes_table:
            return
        try:
            create_table(self._client, self._table, PK, SK)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be created: {error}") from error

    def get(self, pk: str, sk: str) -> bytes | None:
        """An item's body; None if there is none."""
        row = self._row(pk, sk)
        return None if row is None else self._item(row).body

    def _row(self, pk: str, sk: str) -> dict[str, Any] | None:
        key = {PK: {"S": pk}, SK: {"S": sk}}
        try:
            answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error
        found: dict[str, Any] | None = answer.get("Item")
        return found

    def query(self, pk: str, first: str = "", last: str = "\U0010ffff") -> Iterator[Item]:
        """The items of `pk` with an sk from `first` to `last`, both included, in order of sk."""
        asked = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{PK} = :pk AND {SK} BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":pk": {"S": pk},
                ":first": {"S": first or "\x00"},
                ":last": {"S": last},
            },
        }
        try:
            for page in self._client.get_paginator("query").paginate(**asked):
                for row in page["Items"]:
                    yield self._item(row)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error

    def put(self, items: Iterable[Item]) -> None:
        """Write all items, replacing those with the same keys, in no particular order."""
        rows: list[dict[str, Any]] = []
        for item in {(item.pk, item.sk): item for item in items}.values():
            parts = _parts(item)
            self._put_rows([_row(part) for part in parts])
            rows.append(_row(item) if not parts else _head(item, parts))
        self._put_rows(rows)

    def _put_rows(self, rows: list[dict[str, Any]]) -> None:
        for at in range(0, len(rows), _BATCH):
            self._write([{"PutRequest": {"Item": row}} for row in rows[at : at + _BATCH]])

    def _item(self, row: dict[str, Any]) -> Item:
        """An item with its whole body, which may be split over other rows."""
        body, expires = bytes(row[BODY]["B"]), row.get(EXPIRES)
        pk, sk = row[PK]["S"], row[SK]["S"]
        if _PARTS in row:
            parts = (self._row(_parts_of(pk), name) for name in row[_PARTS]["S"].split("\n"))
            body = b"".join(bytes(part[BODY]["B"]) for part in parts if part)
        return Item(pk, sk, body, int(expires["N"]) if expires else None)

    def delete(self, pk: str, sk: str) -> None:
        """Delete an item, if it exists."""
        self.delete_all([(pk, sk)])

    def delete_all(self, keys: Iterable[tuple[str, str]]) -> None:
        """Delete items by (pk, sk)."""
        rows = [{PK: {"S": pk}, SK: {"S": sk}} for pk, sk in keys]
        for at in range(0, len(rows), _BATCH):
            self._write([{"DeleteRequest": {"Key": row}} for row in rows[at : at + _BATCH]])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        for turn in range(_TRIES):
            try:
                answer = self._client.batch_write_item(RequestItems={self._table: requests})
            except (BotoCoreError, ClientError) as error:
                raise StoreError(f"table {self._table} cannot be written: {error}") from error
            requests = answer.get("UnprocessedItems", {}).get(self._table, [])
            if not requests:
                return
            time.sleep(_PAUSE_SECONDS * 2**turn)
        raise StoreError(f"table {self._table} left {len(requests)} items unwritten: it is throttled")


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {PK: {"S": item.pk}, SK: {"S": item.sk}, BODY: {"B": item.body}}
    return row if item.expires_s is None else row | {EXPIRES: {"N": str(item.expires_s)}}


def _parts(item: Item) -> list[Item]:
    """The parts of a long body under new keys: the old body stays complete until the head is replaced."""
    if len(item.body) <= PART_BYTES:
        return []
    name, expires = f"{item.sk}/{uuid4().hex}", item.expires_s or int(time.time()) + _PART_SECONDS
    return [
        Item(_parts_of(item.pk), f"{name}/{at}", item.body[at : at + PART_BYTES], expires)
        for at in range(0, len(item.body), PART_BYTES)
    ]


def _head(item: Item, parts: list[Item]) -> dict[str, Any]:
    return _row(item._replace(body=b"")) | {_PARTS: {"S": "\n".join(part.sk for part in parts)}}


def _parts_of(pk: str) -> str:
    return f"{pk}#parts"
