"""A DynamoDB table of byte strings by (pk, sk): observe's persistent state."""

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from pipelines.control.observe.fence import Fence
from pipelines.control.observe.replaced_parts import ReplacedParts
from shared.dynamodb.client import StoreError, conflicts, create_table, dynamodb_client, throttled
from shared.dynamodb.reading import queried, row_at
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
PK: Final = "pk"
SK: Final = "sk"
BODY: Final = "body"
EXPIRES: Final = "expires"
"""The table's TTL attribute, epoch seconds; DynamoDB deletes the item some time after."""

PART_BYTES: Final = 350_000
"""A longer body is split over several items: DynamoDB's limit is 400 KB."""

_PARTS: Final = "parts"
MOST_TOGETHER: Final = 99
"""Most items in one transaction, beside the fence's: DynamoDB takes 100."""

_MOST_BYTES: Final = 3_000_000
"""Most bytes of bodies in one transaction: DynamoDB takes 4 MB with all that is around them."""

_PART_SECONDS: Final = 30 * 86_400
"""When the parts of an item that does not expire do."""

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

    Each write is a transaction that fails once a later process has begun with the table, and before `begin`
    if any process has (see `fence`).
    boto3 takes region and credentials from the environment.
    """

    def __init__(self, table: str, endpoint: str | None = None) -> None:
        """`endpoint` is the URL of DynamoDB Local, which takes any credentials; None for AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table = table
        self._fence = Fence(self._client, table)
        self._writing = threading.Lock()
        """Transactions at the same time would conflict over the fence, which is in each of them."""

        self._long = ReplacedParts()
        self._makes_table = endpoint is not None

    def ensure(self) -> None:
        """Create the table if the endpoint is local; on AWS the stacks create it."""
        if not self._makes_table:
            return
        try:
            create_table(self._client, self._table, PK, SK)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be created: {error}") from error

    def begin(self) -> None:
        """Take the table over from processes that began before: none of them can write from now on."""
        self._fence.begin()

    @property
    def superseded(self) -> bool:
        """Whether a later process has taken the table over, as far as a write has shown."""
        return self._fence.superseded

    def get(self, pk: str, sk: str) -> bytes | None:
        """An item's body; None if there is none."""
        row = self._row(pk, sk)
        item = None if row is None else self._item(row)
        return None if item is None else item.body

    def _row(self, pk: str, sk: str) -> dict[str, Any] | None:
        return row_at(self._client, self._table, {PK: {"S": pk}, SK: {"S": sk}})

    def query(self, pk: str, first: str = "", last: str = "\U0010ffff") -> Iterator[Item]:
        """The items of `pk` with an sk from `first` to `last`, both included, in order of sk."""
        asked = {
            "KeyConditionExpression": f"{PK} = :pk AND {SK} BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":pk": {"S": pk},
                ":first": {"S": first or "\x00"},
                ":last": {"S": last},
            },
        }
        for row in queried(self._client, self._table, **asked):
            item = self._item(row)
            if item is not None:
                yield item

    def put(self, items: Iterable[Item]) -> None:
        """Write all items, replacing those with the same keys, in no particular order.

        Once the heads of long ones are written, the parts that former heads named are deleted.

        Raises:
            SupersededError: if a later process has begun; as every method that writes does.
        """
        rows: list[dict[str, Any]] = []
        named: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for key, item in {(item.pk, item.sk): item for item in items}.items():
            parts = _parts(item)
            if parts:
                self._know(key)
            self._put_rows([_row(part) for part in parts])
            rows.append(_row(item) if not parts else _head(item, parts))
            named[key] = [(part.pk, part.sk) for part in parts]
        self._put_rows(rows)
        for key, parts_now in named.items():
            self._long.note(key, parts_now)
        self._clear()

    def _know(self, key: tuple[str, str]) -> None:
        """Find out which parts an earlier process wrote of an item, before this one replaces it."""
        row = None if self._long.knows(key) else self._row(*key)
        if row is not None:
            self._long.note(key, _named_in(row))

    def _clear(self) -> None:
        """Delete the parts that no head names any more; what fails is tried with the next write.

        Not in a transaction, which would cost twice as much: no process refers to them any more.
        """
        left = list(self._long.take())
        try:
            while left:
                pk, sk = left[-1]
                self._client.delete_item(TableName=self._table, Key={PK: {"S": pk}, SK: {"S": sk}})
                left.pop()
        except (BotoCoreError, ClientError) as error:
            self._long.put_back(left)
            extra = {"parts": len(left), "error": str(error)}
            _log.warning("replaced parts of long items not deleted yet; retrying", extra=extra)

    def _put_rows(self, rows: list[dict[str, Any]]) -> None:
        for batch in _batches(rows):
            self._write([{"Put": {"TableName": self._table, "Item": row}} for row in batch])

    def _item(self, row: dict[str, Any]) -> Item | None:
        """An item with its whole body, which may be split over other rows; None if it is gone meanwhile.

        A part that is missing was replaced since the head was read, or has expired. In the first case the
        head is another one now. In the second what is left is given.
        """
        pk, sk = row[PK]["S"], row[SK]["S"]
        for _ in range(_TRIES):
            parts = [self._row(*name) for name in _named_in(row)]
            if all(parts):
                break
            now = self._row(pk, sk)
            if now is None:
                return None
            if _named_in(now) == _named_in(row):
                break
            row = now
        else:
            raise StoreError(f"table {self._table}: {pk} {sk} is replaced faster than it can be read")
        body = b"".join(bytes(each[BODY]["B"]) for each in (row, *parts) if each)
        expires = row.get(EXPIRES)
        return Item(pk, sk, body, int(expires["N"]) if expires else None)

    def delete(self, pk: str, sk: str) -> None:
        """Delete an item, if it exists."""
        self.delete_all([(pk, sk)])

    def delete_all(self, keys: Iterable[tuple[str, str]]) -> None:
        """Delete items by (pk, sk), with the parts that this process wrote of them."""
        held = list(keys)
        for batch in _batches({PK: {"S": pk}, SK: {"S": sk}} for pk, sk in held):
            self._write([{"Delete": {"TableName": self._table, "Key": row}} for row in batch])
        for key in held:
            self._long.note(key, ())
        self._clear()

    def _write(self, changes: list[dict[str, Any]]) -> None:
        for turn in range(_TRIES):
            generation = self._fence.generation  # `begin` may come while the request is under way
            try:
                with self._writing:
                    self._client.transact_write_items(
                        TransactItems=[self._fence.condition(generation), *changes]
                    )
            except (BotoCoreError, ClientError) as error:
                self._fence.check(error, generation)
                if not (conflicts(error) or throttled(error)):
                    raise StoreError(f"table {self._table} cannot be written: {error}") from error
            else:
                return
            time.sleep(_PAUSE_SECONDS * 2**turn)
        raise StoreError(f"table {self._table} left {len(changes)} items unwritten: it is throttled")


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        more = len(row[BODY]["B"]) if BODY in row else 0
        if batch and (len(batch) == MOST_TOGETHER or size + more > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += more
    if batch:
        yield batch


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


def _named_in(head: dict[str, Any]) -> list[tuple[str, str]]:
    """The keys of the parts that a row names; none of a short body."""
    if _PARTS not in head:
        return []
    return [(_parts_of(head[PK]["S"]), name) for name in head[_PARTS]["S"].split("\n")]


def _parts_of(pk: str) -> str:
    return f"{pk}#parts"
