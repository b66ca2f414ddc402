"""Terraform as one of the roles of foundation, as the workflows run it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.aws.server import LocalAws

DEPLOY, PLAN = "deploy", "plan"
"""Access keys that stand for roles at the local AWS."""

ADMINISTRATOR = "test"


def know_roles(aws: LocalAws) -> None:
    """Let the two access keys act as the roles, with no other permissions than these have."""
    aws.roles.update({key: f"hifi-local-{key}" for key in (DEPLOY, PLAN)})


def act_as(folder: Path, key: str, stacks: Sequence[str]) -> None:
    """Let Terraform sign its calls for some stacks with an access key from now on."""
    for name in stacks:
        file = folder / "stacks" / name / "cdk.tf.json"
        document = json.loads(file.read_text())
        document["provider"]["aws"][0]["access_key"] = key
        file.write_text(json.dumps(document, indent=2))


@contextmanager
def acting_as(folder: Path, key: str, stacks: Sequence[str]) -> Iterator[None]:
    """Act as one role within the block, and as the deploy role again at the end."""
    act_as(folder, key, stacks)
    try:
        yield
    finally:
        act_as(folder, DEPLOY, stacks)
