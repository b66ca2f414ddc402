"""The part of foundation that LocalStack's free edition can make."""

import re
from typing import Any

# The deployment to moto tests lifecycles: the AWS provider waits a fixed minute for each.
KINDS = ("aws_s3_bucket", "aws_kms_", "aws_iam_", "aws_route53_zone", "aws_secretsmanager_")
LEFT_OUT = frozenset({"aws_s3_bucket_lifecycle_configuration"})
REFERENCE = re.compile(r"\$\{((?:data\.)?aws_\w+\.[\w-]+)")

Resources = dict[str, dict[str, Any]]


def reduced(stack: dict[str, Any]) -> dict[str, Any]:
    """A stack without outputs, without resources that LocalStack lacks, and without references to them."""
    data = {f"data.{name}" for name in _named(stack.get("data", {}))}
    kept = {name: value for name, value in _named(stack["resource"]).items() if _known(name)}
    while True:
        there = {*kept, *data}
        complete = {name: value for name, value in kept.items() if _references(value) <= there}
        if len(complete) == len(kept):
            break
        kept = complete
    outer = {name: value for name, value in stack.items() if name not in {"resource", "output"}}
    return {**outer, "resource": _nested(kept)}


def _known(name: str) -> bool:
    kind = name.partition(".")[0]
    return kind.startswith(KINDS) and kind not in LEFT_OUT


def _references(resource: dict[str, Any]) -> set[str]:
    wanted = [*REFERENCE.findall(str({**resource, "depends_on": []})), *resource.get("depends_on", [])]
    return set(wanted)


def _named(resources: Resources) -> Resources:
    return {f"{kind}.{name}": value for kind, each in resources.items() for name, value in each.items()}


def _nested(resources: Resources) -> Resources:
    nested: Resources = {}
    for name, value in resources.items():
        kind, _, own = name.partition(".")
        nested.setdefault(kind, {})[own] = value
    return nested
