"""Follows a side's references to resources, keys and Kafka topics and groups."""

import json
import re
from typing import Any

from tests.synth.terraform import Resource, Stack, one, resources

__all__ = [
    "Resource",
    "Stack",
    "certificate_of",
    "follow",
    "kafka_resource",
    "key_alias",
    "one",
    "resources",
    "statements",
]

_REFERENCE = re.compile(r"\$\{(aws_[a-z0-9_]+)\.([\w-]+)[.\[]")
_KEY = re.compile(r"\$\{data\.aws_kms_alias\.([\w-]+)\.target_key_arn\}")
_CERTIFICATE = re.compile(r"\$\{data\.aws_acm_certificate\.([\w-]+)\.arn\}")
_LOCAL = re.compile(r"\$\{local\.([\w-]+)\}/(.+)")


def follow(stack: Stack, reference: str) -> Resource:
    """The resource that a text such as `${aws_subnet.a.id}` refers to."""
    match = _REFERENCE.search(reference)
    assert match, f"{reference} refers to no resource"
    found: Resource = stack["resource"][match[1]][match[2]]
    return found


def key_alias(stack: Stack, reference: str) -> str:
    """Alias of the KMS key that a text such as `${data.aws_kms_alias.x.target_key_arn}` refers to."""
    match = _KEY.fullmatch(reference)
    assert match, f"{reference} is no key of foundation"
    return str(stack["data"]["aws_kms_alias"][match[1]]["name"])


def certificate_of(stack: Stack, listener: Resource) -> Resource:
    """A listener's certificate, which foundation issued."""
    match = _CERTIFICATE.fullmatch(listener["certificate_arn"])
    assert match, f"{listener['certificate_arn']} is no certificate of foundation"
    found: Resource = stack["data"]["aws_acm_certificate"][match[1]]
    assert found["statuses"] == ["ISSUED"]
    return found


def kafka_resource(stack: Stack, arn: str) -> tuple[str, str] | None:
    """Kind and name of a Kafka topic or group of the side in an ARN such as `${local.topics}/events`."""
    match = _LOCAL.fullmatch(arn)
    if match is None:
        return None
    base = stack["locals"][match[1]]
    kind = re.fullmatch(r'\$\{replace\((aws_msk_cluster\.[\w-]+)\.arn, ":cluster/", ":([a-z-]+)/"\)\}', base)
    assert kind, f"{base} is no part of the side's Kafka cluster"
    return kind[2], match[2]


def statements(resource: Resource) -> list[dict[str, Any]]:
    """Statements of a role's own policy, with their references."""
    found: list[dict[str, Any]] = json.loads(resource["policy"])["Statement"]
    return found
