"""Controllers' own schemas, from their Go modules in the charts' versions, with checksums."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.synth.golang import module

KEDA: Final = "2.20.2"
_MODULE: Final = f"github.com/kedacore/keda/v2@v{KEDA}"
_CHECKSUM: Final = "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA="

OPERATOR_OF: Final = {"88.5.3": "v0.93.1"}
"""Versions of the Prometheus operator, by versions of the chart `kube-prometheus-stack`."""

(_OPERATOR,) = set(OPERATOR_OF.values())
_OPERATOR_MODULE: Final = f"github.com/prometheus-operator/prometheus-operator@{_OPERATOR}"
_OPERATOR_CHECKSUM: Final = "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY="

Schemas = dict[tuple[str, str], dict[str, Any]]


@cache
def schemas() -> Schemas:
    """Schemas of all custom resources, by apiVersion and kind."""
    operator = module(_OPERATOR_MODULE, _OPERATOR_CHECKSUM) / "example" / "prometheus-operator-crd"
    keda = module(_MODULE, _CHECKSUM) / "config" / "crd" / "bases"
    ours = (operator / f"monitoring.coreos.com_{kind}.yaml" for kind in ("podmonitors", "prometheusrules"))
    return _read([*sorted(keda.glob("*.yaml")), *ours])


def _read(files: Iterable[Path]) -> Schemas:
    """Closed schemas, as the API server drops or rejects fields outside a schema."""
    found = {}
    for file in files:
        spec = yaml.safe_load(file.read_text())["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def _only_for_go(key: str, value: Any) -> bool:
    """Whether Python's regular expressions lack the pattern's syntax, such as flags in the middle."""
    return key == "pattern" and isinstance(value, str) and "(?i)" in value


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items() if not _only_for_go(key, value)}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made
