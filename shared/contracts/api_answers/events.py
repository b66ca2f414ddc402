"""Events and values of events as they are, which the API does not decode."""

from typing import Annotated, Final

from msgspec import Meta, Raw

Event = Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
"""In CloudEvents' structured format; null if there is none."""

Value = Annotated[Raw, Meta(extra_json_schema={})]
"""Any JSON."""

NOTHING: Final = Raw(b"null")
