"""The table route matches events against: one row per source, compiled from its pipes."""

from typing import Final

from shared.contracts import headers as h

_MATCHER: Final = "struct<op:string,values:array<string>,negate:boolean,low:double,high:double>"
_CONDITION: Final = f"struct<slot:int,matchers:array<{_MATCHER}>>"
_ALTERNATIVE: Final = (
    f"struct<pipe:string,threshold:int,attributes:array<{_CONDITION}>,data:array<{_CONDITION}>>"
)

_FIELD: Final = "struct<field:string,kind:string,path:array<string>>"
_WATCH: Final = f"struct<pipe:string,fields:array<{_FIELD}>>"

SOURCE_ROW: Final = (
    "pipes_tenant string, pipes_source string, attribute_headers array<string>, "
    f"data_paths array<array<string>>, alternatives array<{_ALTERNATIVE}>, watches array<{_WATCH}>"
)
"""`slot` of a condition on an attribute counts in `attribute_headers`, of one on data in `data_paths`, so
that each distinct path of an event is read once, however many pipes use it. `watches` is null where no pipe
of the source watches a field."""

REQUIRED_HEADERS: Final = (
    h.SOURCE,
    h.TENANT,
    h.RECEIVED,
    h.MINUTE,
    h.CE_ID,
    h.CE_SOURCE,
    h.CE_TYPE,
    h.CE_TIME,
)
"""The headers that route and the nodes after it need."""
