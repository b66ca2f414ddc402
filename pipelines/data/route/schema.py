"""The table route matches events against: one row per source, compiled from its pipes."""

from typing import Final

from shared.contracts import headers as h

_MATCHER: Final = (
    "struct<op:string,values:array<string>,numbers:array<double>,negate:boolean,low:double,high:double>"
)
_CONDITION: Final = f"struct<slot:int,matchers:array<{_MATCHER}>,per_value:bigint,per_block:bigint>"
_ALTERNATIVE: Final = (
    f"struct<pipe:string,threshold:int,attributes:array<{_CONDITION}>,data:array<{_CONDITION}>>"
)

_NAME: Final = "struct<of:int,name:string>"
_LEVEL: Final = f"struct<objects:array<{_NAME}>,fields:array<{_NAME}>>"
_TREE: Final = f"struct<objects:array<string>,fields:array<string>,levels:array<{_LEVEL}>>"

_FIELD: Final = "struct<field:string,kind:string,slot:int>"
_WATCH: Final = f"struct<pipe:string,fields:array<{_FIELD}>>"

SOURCE_ROW: Final = (
    "pipes_tenant string, pipes_source string, attribute_headers array<string>, "
    f"data_tree {_TREE}, alternatives array<{_ALTERNATIVE}>, watches array<{_WATCH}>, "
    "steps_per_byte bigint, attribute_steps bigint"
)
"""`slot` of a condition on an attribute counts in `attribute_headers`, of a condition on data or a watched
field in the fields of `data_tree`, level after level, so that each distinct path of an event is read once,
however many pipes use it. In the tree, `objects` are the names on the way to other fields, at first those in
the data itself; at a level `of` counts in the objects of the one before. It is null where no pipe of the
source looks at data, and `watches` is where none watches a field. Steps are those of
`shared.contracts.matching_steps`."""

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
