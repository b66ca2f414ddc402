"""Rows of the register of activities. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shared.contracts.control_table import ACTIVITIES
from shared.contracts.diamond.activities import Activity
from shared.dynamodb.document_rows import DOCUMENT, row_key

ACTIVITY: Final = "activity"
WISH: Final = "wish"
_SERIAL: Final = "serial"
_ITEM: Final = "item"
_BEAT: Final = "beat"
_FENCE: Final = "fence"
_NAMES: Final = {"#b": _BEAT, "#f": _FENCE}


def partition(side: str) -> str:
    """Partition of a side's register."""
    return f"{ACTIVITIES}{side}"


def sort_key(kind: str, name: str) -> str:
    """Sort key of an activity, or of a wish for one."""
    return f"{kind}/{name}"


def kind_of(row: Mapping[str, Any]) -> str:
    """ACTIVITY, WISH, or another for the serial."""
    return str(row[DOCUMENT]["S"]).partition("/")[0]


def read(row: Mapping[str, Any]) -> Activity:
    """The activity in a row."""
    found = msgspec.json.decode(row[_ITEM]["S"], type=Activity)
    return msgspec.structs.replace(found, beat=int(row[_BEAT]["N"]))


def serial_key(side: str) -> dict[str, Any]:
    """Key of the row that counts what was begun."""
    return row_key(partition(side), _SERIAL)


def serial_of(row: Mapping[str, Any] | None) -> int:
    """The count so far; 0 without a row."""
    return 0 if row is None else int(row[_FENCE]["N"])


def counted(table: str, side: str, seen: int) -> dict[str, Any]:
    """Count one more, if no other process has since."""
    return {
        "Put": {
            "TableName": table,
            "Item": serial_key(side) | {_FENCE: {"N": str(seen + 1)}},
            "ConditionExpression": "attribute_not_exists(#f) OR #f = :f",
            "ExpressionAttributeNames": {"#f": _FENCE},
            "ExpressionAttributeValues": {":f": {"N": str(seen)}},
        }
    }


def added(table: str, side: str, kind: str, activity: Activity) -> dict[str, Any]:
    """Write one that is not there."""
    row = row_key(partition(side), sort_key(kind, activity.id)) | _fields(activity)
    return {
        "Put": {
            "TableName": table,
            "Item": row,
            "ConditionExpression": "attribute_not_exists(#f)",
            "ExpressionAttributeNames": {"#f": _FENCE},
        }
    }


def changed(table: str, side: str, kind: str, activity: Activity, before: Activity) -> dict[str, Any]:
    """Write one over its former self."""
    row = row_key(partition(side), sort_key(kind, activity.id)) | _fields(activity)
    return {"Put": {"TableName": table, "Item": row} | _unmoved(before)}


def removed(table: str, side: str, kind: str, activity: Activity) -> dict[str, Any]:
    """Delete one, if its beat has not moved."""
    key = row_key(partition(side), sort_key(kind, activity.id))
    return {"Delete": {"TableName": table, "Key": key} | _unmoved(activity)}


def there(table: str, side: str, activity: Activity) -> dict[str, Any]:
    """Let a transaction fail unless an activity is still its owner's."""
    return {
        "ConditionCheck": {
            "TableName": table,
            "Key": row_key(partition(side), sort_key(ACTIVITY, activity.id)),
            "ConditionExpression": "#f = :f",
            "ExpressionAttributeNames": {"#f": _FENCE},
            "ExpressionAttributeValues": {":f": {"N": str(activity.fence)}},
        }
    }


def _fields(activity: Activity) -> dict[str, Any]:
    return {
        _ITEM: {"S": msgspec.json.encode(activity).decode()},
        _BEAT: {"N": str(activity.beat)},
        _FENCE: {"N": str(activity.fence)},
    }


def _unmoved(activity: Activity) -> dict[str, Any]:
    return {
        "ConditionExpression": "#f = :f AND #b = :b",
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": {
            ":f": {"N": str(activity.fence)},
            ":b": {"N": str(activity.beat)},
        },
    }
