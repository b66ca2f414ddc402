"""Keeps a process from writing to observe's table once a later one has begun with it.

The cluster replaces an observe on a node out of reach, and the old one may run on. Written by both, the
state of a minute could be older than the stored position in the ledger: what is between would count as lost.
"""

from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import CONDITION_FAILED, StoreError, cancellations

_KEY: Final = {"pk": {"S": "fence"}, "sk": {"S": "observe"}}
_GENERATION: Final = "generation"
_NAMES: Final = {"#g": _GENERATION}


class SupersededError(StoreError):
    """A later process has begun with the table: this one can write nothing any more."""


class Fence:
    """A process's number among those that began with a table: each of its writes has it as a condition.

    Before `begin` the condition is that no process ever began. May be used from any thread; `begin` from one.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client, self._table = client, table
        self._generation = 0
        self.superseded = False
        """Whether a later process has begun, as far as a write has shown."""

    def begin(self) -> None:
        """Take the next number, once: writes of every process before fail from now on.

        Raises:
            StoreError: if the table cannot be written.
        """
        if self._generation:
            return
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=_KEY,
                UpdateExpression="ADD #g :one",
                ExpressionAttributeNames=_NAMES,
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValues="UPDATED_NEW",
            )
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be written: {error}") from error
        self._generation = int(answer["Attributes"][_GENERATION]["N"])

    @property
    def generation(self) -> int:
        """The process's number; 0 before `begin`."""
        return self._generation

    def condition(self, generation: int) -> dict[str, Any]:
        """The first item of each transaction of a process with this number."""
        check: dict[str, Any] = {
            "TableName": self._table,
            "Key": _KEY,
            "ExpressionAttributeNames": _NAMES,
            "ConditionExpression": "attribute_not_exists(#g)",
        }
        if generation:
            check["ConditionExpression"] = "#g = :g"
            check["ExpressionAttributeValues"] = {":g": {"N": str(generation)}}
        return {"ConditionCheck": check}

    def check(self, error: Exception, generation: int) -> None:
        """Raise what a failed transaction means if it failed because of the condition.

        Args:
            error: that of the transaction.
            generation: the one of its condition. With 0 it came before `begin`, and what has begun with the
                table is a process before this one.

        Raises:
            SupersededError: if a later process has begun.
            StoreError: if this one had not begun yet.
        """
        if cancellations(error)[:1] != [CONDITION_FAILED]:
            return
        if not generation:
            raise StoreError(
                f"table {self._table}: observe has not begun with its table yet; try again in a few seconds"
            ) from error
        self.superseded = True
        raise SupersededError(
            f"table {self._table}: another observe has begun with it since; this one, start number "
            f"{generation}, writes nothing any more"
        ) from error
