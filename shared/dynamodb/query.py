"""The rows that a query of DynamoDB finds, of all of its answers: one holds a megabyte at most."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError


def queried(client: Any, table: str, **asked: Any) -> Iterator[dict[str, Any]]:
    """Every row as it is now, in order of the sort key; the next answer is asked for when it is reached.

    Args:
        client: of DynamoDB.
        table: its name.
        asked: other parameters of the query.

    Raises:
        StoreError: if the table cannot be read.
    """
    try:
        for answer in client.get_paginator("query").paginate(TableName=table, ConsistentRead=True, **asked):
            yield from answer["Items"]
    except (BotoCoreError, ClientError) as error:
        raise StoreError(f"table {table} cannot be read: {error}") from error
