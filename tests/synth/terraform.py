"""Queries on synthesised Terraform, by kind and properties of resources, never by logical id."""

import json
import re
from collections.abc import Iterator
from typing import Any

Stack = dict[str, Any]
Resource = dict[str, Any]


def resources(stack: Stack, kind: str) -> list[Resource]:
    """All resources of a kind, such as `aws_kms_key`."""
    return list(stack.get("resource", {}).get(kind, {}).values())


def one(stack: Stack, kind: str, **properties: Any) -> Resource:
    """The only resource of a kind that has these properties."""
    found = [each for each in resources(stack, kind) if properties.items() <= each.items()]
    assert len(found) == 1, f"{len(found)} of {kind} with {properties}"
    return found[0]


def every_resource(stack: Stack) -> Iterator[tuple[str, Resource]]:
    """Kind and properties of every resource."""
    for kind, named in stack.get("resource", {}).items():
        for resource in named.values():
            yield kind, resource


def address(stack: Stack, kind: str, resource: Resource) -> str:
    """A resource's address, as references contain it."""
    return next(f"{kind}.{name}" for name, each in stack["resource"][kind].items() if each is resource)


def statements(resource: Resource) -> list[dict[str, Any]]:
    """The statements of every IAM policy of a resource."""
    texts = [resource[key] for key in ("policy", "assume_role_policy") if key in resource]
    documents = [_parse(text) for text in texts if isinstance(text, str) and text.startswith("{")]
    return [statement for document in documents for statement in document.get("Statement", [])]


def _parse(text: str) -> dict[str, Any]:
    # Terraform replaces ${...} before the text is read as JSON.
    document: dict[str, Any] = json.loads(re.sub(r"\$\{[^}]*\}", "reference", text))
    return document
