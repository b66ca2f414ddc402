"""All stacks of one synthesis: deployed in parallel where the provider waits, removed in reverse order."""

import json
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from moto.iam.models import iam_backends

from tests.deploy.acting import DEPLOY, PLAN, act_as, acting_as, know_roles
from tests.deploy.aws.server import LocalAws
from tests.deploy.terraform import Change, Terraform

TWINS = ("blue", "green")
OF_DEPLOY_ROLE = (*TWINS, "edge")
STACKS = ("foundation", *OF_DEPLOY_ROLE)
FOUNDATION_S = 300


def stack(folder: Path, name: str) -> Terraform:
    """Terraform over one stack of a synthesis."""
    return Terraform(folder / "stacks" / name)


def declared(folder: Path, name: str) -> dict[str, object]:
    """The Terraform JSON of one stack."""
    document: dict[str, object] = json.loads((folder / "stacks" / name / "cdk.tf.json").read_text())
    return document


def deploy(folder: Path, aws: LocalAws) -> None:
    """Apply every stack.

    The AWS provider waits a fixed minute for the lifecycles of foundation's buckets. No twin reads
    these: the twins start as soon as the resources that they look up exist.
    """
    act_as(folder, DEPLOY, OF_DEPLOY_ROLE)
    for name in STACKS:
        stack(folder, name).init()
    with ThreadPoolExecutor() as pool:
        foundation = pool.submit(stack(folder, "foundation").apply)
        _await_what_twins_look_up(folder, aws, foundation)
        aws.connections.confirm()
        know_roles(aws)
        for each in [pool.submit(stack(folder, name).apply) for name in TWINS]:
            each.result()
        foundation.result()
    stack(folder, "edge").apply()


def plans(folder: Path) -> dict[str, list[Change]]:
    """The changes that an apply of each stack would make, planned by the plan role where it may plan."""
    with acting_as(folder, PLAN, OF_DEPLOY_ROLE), ThreadPoolExecutor() as pool:
        made = {name: pool.submit(stack(folder, name).plan) for name in STACKS}
        return {name: each.result() for name, each in made.items()}


def destroy(folder: Path) -> None:
    """Destroy every stack, the last one first."""
    stack(folder, "edge").destroy()
    with ThreadPoolExecutor() as pool:
        for each in [pool.submit(stack(folder, name).destroy) for name in TWINS]:
            each.result()
    stack(folder, "foundation").destroy()


def _await_what_twins_look_up(folder: Path, aws: LocalAws, foundation: Future[None]) -> None:
    resources = declared(folder, "foundation")["resource"]
    assert isinstance(resources, dict)
    aliases = {each["name"] for each in resources["aws_kms_alias"].values()}
    certificates = len(resources["aws_acm_certificate"])
    kms, acm = aws.client("kms"), aws.client("acm")
    deadline = time.monotonic() + FOUNDATION_S
    while time.monotonic() < deadline:
        wait([foundation], timeout=0.5)
        if foundation.done():
            foundation.result()
        there = {each["AliasName"] for each in kms.list_aliases()["Aliases"]}
        issued = acm.list_certificates(CertificateStatuses=["ISSUED"])["CertificateSummaryList"]
        looked_up = aliases <= there and len(issued) == certificates and len(aws.connections.known)
        if looked_up and _roles_are_whole(aws, resources):
            return
    raise TimeoutError(
        f"foundation did not make {aliases} and {certificates} certificates within {FOUNDATION_S} s"
    )


def _roles_are_whole(aws: LocalAws, resources: dict[str, dict[str, object]]) -> bool:
    iam = iam_backends[aws.place.account]["aws"]
    roles = [role for role in iam.roles.values() if role.name in {"hifi-local-deploy", "hifi-local-plan"}]
    attached = sum(len(role.managed_policies) for role in roles)
    return attached == len(resources["aws_iam_role_policy_attachment"])
