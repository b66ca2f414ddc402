"""The value of a `collected` record as Spark reads it: `shared.contracts.envelope.CollectedItem`."""

from typing import Final

COLLECTED_ITEM: Final = "struct<attributes:map<string,string>,minute:bigint,data:string,data_base64:string>"
COLLECTED_ITEMS: Final = f"array<{COLLECTED_ITEM}>"
"""`data` is text inside a JSON string, which from_json returns exactly as it was."""

REQUIRED_ATTRIBUTES: Final = ("id", "source", "type", "time")
