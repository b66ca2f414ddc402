"""KEDA's own schemas, from its Go module in the version that the charts install, with a pinned checksum."""

from functools import cache
from typing import Any, Final

import yaml

from tests.synth.golang import module

KEDA: Final = "2.20.2"
_MODULE: Final = f"github.com/kedacore/keda/v2@v{KEDA}"
_CHECKSUM: Final = "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA="

Schemas = dict[tuple[str, str], dict[str, Any]]


@cache
def keda_schemas() -> Schemas:
    """By apiVersion and kind; closed, since the API server drops or rejects fields outside the schema."""
    found = {}
    for file in sorted((module(_MODULE, _CHECKSUM) / "config" / "crd" / "bases").glob("*.yaml")):
        spec = yaml.safe_load(file.read_text())["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made
