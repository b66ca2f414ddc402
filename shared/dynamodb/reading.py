"""Reads rows of DynamoDB as they are now: one, those of a list of keys, and what a query finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError

_MOST: Final = 100
"""Rows that one BatchGetItem takes."""

_TRIES: Final = 12

Row = dict[str, Any]


def row_at(client: Any, table: str, key: Row) -> Row | None:
    """The row at a key; None if there is none.

    Raises:
        StoreError: if the table cannot be read.
    """
    with _reading(table):
        row: Row | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return row


def rows_of(client: Any, table: str, wanted: list[Row]) -> list[Row]:
    """Those of the rows that are there, in any order; each key may be asked for once.

    Raises:
        StoreError: if the table cannot be read, or not fast enough.
    """
    rows: list[Row] = []
    tries = _TRIES + len(wanted) // _MOST  # those left unread come again
    with _reading(table):
        while wanted and tries:
            request = {table: {"Keys": wanted[:_MOST], "ConsistentRead": True}}
            answer = client.batch_get_item(RequestItems=request)
            rows += answer["Responses"].get(table, [])
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            wanted = [*left, *wanted[_MOST:]]
            tries -= 1
    if wanted:
        raise StoreError(f"table {table} leaves {len(wanted)} items unread: it is throttled")
    return rows


def queried(client: Any, table: str, **asked: Any) -> Iterator[Row]:
    """Every row that a query finds, in order of the sort key.

    An answer holds a megabyte at most; the next one is asked for when it is reached.

    Args:
        client: of DynamoDB.
        table: its name.
        asked: other parameters of the query.

    Raises:
        StoreError: if the table cannot be read.
    """
    with _reading(table):
        for answer in client.get_paginator("query").paginate(TableName=table, ConsistentRead=True, **asked):
            yield from answer["Items"]


@contextmanager
def _reading(table: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise StoreError(f"table {table} cannot be read: {error}") from error
