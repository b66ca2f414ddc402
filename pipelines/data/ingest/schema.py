"""The value of a `collected` record as Spark reads it: `shared.contracts.envelope.CollectedItem`."""

from typing import Final

from shared.contracts.envelope import REQUIRED_ATTRIBUTES

COLLECTED_ITEM: Final = (
    f"struct<{','.join(f'{name}:string' for name in REQUIRED_ATTRIBUTES)},"
    "minute:bigint,headers:map<string,string>,data:string,data_base64:string>"
)
COLLECTED_ITEMS: Final = f"array<{COLLECTED_ITEM}>"
"""`data` is text inside a JSON string, which from_json returns exactly as it was."""
