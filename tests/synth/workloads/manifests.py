"""Rendered manifests and queries on them."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

WORKLOADS = Path(__file__).parents[3] / "infra" / "workloads"
CHAIN = ("ingest", "route", "transmit")
METER = {
    "audit-driver": "pipelines.control.audit",
    "observe": "pipelines.control.observe",
    "console": "pipelines.management.console",
    "canary": "pipelines.control.canary",
}
LASTING = ("Deployment", "StatefulSet")
WITH_PODS = (*LASTING, "Job", "CronJob")


def render(folder: Path) -> list[Manifest]:
    """The manifests that `kubectl apply -k` of a folder would send."""
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def of_kind(manifests: Iterable[Manifest], *kinds: str) -> list[Manifest]:
    return [each for each in manifests if each["kind"] in kinds]


def workloads(manifests: Iterable[Manifest]) -> list[Manifest]:
    return of_kind(manifests, *WITH_PODS)


def named(manifests: Iterable[Manifest], kind: str, name: str) -> Manifest:
    (found,) = [each for each in of_kind(manifests, kind) if each["metadata"]["name"] == name]
    return found


def label(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def pod(workload: Manifest) -> dict[str, Any]:
    spec: dict[str, Any] = _template(workload)["spec"]
    return spec


def pod_labels(workload: Manifest) -> dict[str, str]:
    labels: dict[str, str] = _template(workload)["metadata"]["labels"]
    return labels


def _template(workload: Manifest) -> dict[str, Any]:
    spec: dict[str, Any] = workload["spec"]
    found: dict[str, Any] = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]
    return found


def container(workload: Manifest) -> dict[str, Any]:
    (only,) = pod(workload)["containers"]
    found: dict[str, Any] = only
    return found


def containers(workload: Manifest) -> Iterator[dict[str, Any]]:
    yield from pod(workload).get("initContainers", [])
    yield from pod(workload)["containers"]


def environment(workload: Manifest) -> dict[str, str]:
    """The environment variables in a container's own manifest, as the kubelet expands them."""
    values: dict[str, str] = {}
    for entry in container(workload).get("env", []):
        if "value" in entry:
            values[entry["name"]] = expanded(entry["value"], values)
        elif (field := entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")).startswith(
            "metadata.labels["
        ):
            # Kubernetes adds labels of the node, which are not in the manifest.
            values[entry["name"]] = pod_labels(workload).get(field.split("'")[1], "")
    return values


def command(workload: Manifest) -> list[str]:
    only = container(workload)
    values = environment(workload)
    return [expanded(word, values) for word in (*only.get("command", []), *only.get("args", []))]


def expanded(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda match: values.get(match[1], match[0]), text)


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a label selector matches a pod; an empty one matches all."""
    fits = [labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()]
    for each in selector.get("matchExpressions", []):
        assert each["operator"] == "In", f"selects() does not implement the operator {each['operator']}"
        fits.append(labels.get(each["key"]) in each["values"])
    return all(fits)


def seconds_before_kill(workload: Manifest) -> int:
    grace: int = pod(workload)["terminationGracePeriodSeconds"]
    return grace


def wanted(settings: Any) -> set[str]:
    return {f"HIFI_{name.upper()}" for name, field in settings.model_fields.items() if field.is_required()}
