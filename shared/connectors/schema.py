"""Options of connectors as JSON Schema, for forms. Pure."""

from typing import Any

import msgspec

from shared.connectors.spec import ConnectorSpec

_DEFINITIONS = "$defs"


def options_schema(spec: ConnectorSpec[Any]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a connector's options, made of the struct that decodes them.

    The struct ignores unknown fields, as a document on the topic may come from a newer version. Users may not
    write any, so the schema allows none.
    """
    (root,), found = msgspec.json.schema_components([spec.options], ref_template=f"#/{_DEFINITIONS}/{{name}}")
    definitions = {name: _closed(each) for name, each in found.items()}
    own = definitions.pop(root["$ref"].rpartition("/")[2])
    return own | ({_DEFINITIONS: definitions} if definitions else {})


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"additionalProperties": False} if "properties" in schema else schema
