"""A lease: of the processes that want to lead, one does, and another takes over when it is gone."""

from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError, dynamodb_client, error_code
from shared.dynamodb.reading import row_at

_OWNER: Final = "owner"
_BEAT: Final = "beat"

Beat = tuple[str, int]
"""A lease's owner, and a number that rises with each renewal."""


class Lease:
    """Belongs to one thread at a time.

    A follower takes over when the holder's beat has not moved for `seconds` by the follower's own clock, so
    that clocks need not agree. Between its death and then no process leads; a holder that was suspended
    learns at its next beat that it lost. What it does in between must be fenced by what it writes to.
    """

    def __init__(  # noqa: PLR0913  # the item's place, who, and the world
        self,
        table: str,
        endpoint: str | None,
        *,
        keys: dict[str, str],
        owner: str,
        seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        """Want a lease.

        Args:
            table: the DynamoDB table that holds it.
            endpoint: URL of DynamoDB Local; None is AWS.
            keys: partition and sort key of its item.
            owner: names this process and no other.
            seconds: after which a silent holder has lost it.
            monotonic: seconds of a clock that never goes back.
        """
        self._client: Any = dynamodb_client(endpoint)
        self._table, self._owner, self._seconds, self._monotonic = table, owner, seconds, monotonic
        self._key = {name: {"S": value} for name, value in keys.items()}
        self._seen: Beat | None = None
        self._seen_at = 0.0

    def held(self) -> bool:
        """Whether this process leads: beats if it does, tries to take over if no other process beats.

        Raises:
            StoreError: if the table cannot be used; then it is unknown who leads.
        """
        found = read_beat(self._client, self._table, self._key)
        if found is None:
            return self._write(None, 1)
        owner, beat = found
        if owner == self._owner:
            return self._write(found, beat + 1)
        if found != self._seen:
            self._seen, self._seen_at = found, self._monotonic()
            return False
        if self._monotonic() - self._seen_at < self._seconds:
            return False
        return self._write(found, beat + 1)

    def release(self) -> None:
        """Give it up, so that the next one need not wait. Raises nothing: it runs out anyway."""
        try:
            self._client.delete_item(
                TableName=self._table,
                Key=self._key,
                ConditionExpression="#o = :o",
                ExpressionAttributeNames={"#o": _OWNER},
                ExpressionAttributeValues={":o": {"S": self._owner}},
            )
        except (BotoCoreError, ClientError):
            return

    def _write(self, former: Beat | None, beat: int) -> bool:
        names = {"#o": _OWNER}
        if former is None:
            condition, values = "attribute_not_exists(#o)", {}
        else:
            condition, names = "#o = :o AND #b = :b", names | {"#b": _BEAT}
            values = {":o": {"S": former[0]}, ":b": {"N": str(former[1])}}
        row = self._key | {_OWNER: {"S": self._owner}, _BEAT: {"N": str(beat)}}
        request: dict[str, Any] = {
            "TableName": self._table,
            "Item": row,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
        }
        try:
            self._client.put_item(**request, **({"ExpressionAttributeValues": values} if values else {}))
        except (BotoCoreError, ClientError) as error:
            if error_code(error) == "ConditionalCheckFailedException":
                return False
            raise StoreError(f"table {self._table} cannot be written: {error}") from error
        return True


def read_beat(client: Any, table: str, key: dict[str, Any]) -> Beat | None:
    """The beat of the lease at a key of a table; None if no process has it.

    Raises:
        StoreError: if the table cannot be used.
    """
    row = row_at(client, table, key)
    return None if row is None else (row[_OWNER]["S"], int(row[_BEAT]["N"]))
