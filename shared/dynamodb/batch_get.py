"""Reads rows by their keys, many at a time."""

from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError

_MOST: Final = 100
"""Rows that one BatchGetItem takes."""

_TRIES: Final = 12


def rows_of(client: Any, table: str, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the rows that are there, in any order; each may be asked for once.

    Raises:
        StoreError: if the table cannot be used.
    """
    rows: list[dict[str, Any]] = []
    tries = _TRIES + len(wanted) // _MOST  # those left unread come again
    try:
        while wanted and tries:
            request = {table: {"Keys": wanted[:_MOST], "ConsistentRead": True}}
            answer = client.batch_get_item(RequestItems=request)
            rows += answer["Responses"].get(table, [])
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            wanted = [*left, *wanted[_MOST:]]
            tries -= 1
    except (BotoCoreError, ClientError) as error:
        raise StoreError(f"table {table} cannot be read: {error}") from error
    if wanted:
        raise StoreError(f"table {table} leaves {len(wanted)} items unread: it is throttled")
    return rows
