"""Who may assume the roles of GitHub's workflows, and what these roles may do."""

from pathlib import Path
from typing import Any

import pytest

from infra.config import Environment
from tests.synth.conftest import Synthesised, foundation, settings
from tests.synth.terraform import Stack, one, resources, statements


@pytest.fixture
def production(synthesised: Synthesised) -> Stack:
    return synthesised("production")["foundation"]


def subjects(foundation_stack: Stack) -> dict[str, str]:
    """The subject of GitHub's tokens that each role trusts."""
    found = {}
    for role in resources(foundation_stack, "aws_iam_role"):
        if role["name"] == "hifi-production-deployer":  # pods' roles: test_deployer.py
            continue
        (trust,) = statements(role)
        assert trust["Action"] == ["sts:AssumeRoleWithWebIdentity"]
        claims = trust["Condition"]["StringEquals"]
        assert claims["token.actions.githubusercontent.com:aud"] == "sts.amazonaws.com"
        found[role["name"]] = claims["token.actions.githubusercontent.com:sub"]
    return found


def test_only_the_named_repository_may_take_on_a_role(production: Stack) -> None:
    assert subjects(production) == {
        "hifi-production-plan": "repo:example/hifi:pull_request",
        "hifi-production-deploy": "repo:example/hifi:environment:production",
    }


def test_a_repository_whose_tokens_name_its_numbers_is_known_by_them(
    tmp_path: Path, synthesised: Synthesised
) -> None:
    synthesised("production")  # skips without Node.js
    numbered = {"repository_ids": {"owner": 123456, "repository": 456789}}
    environment = Environment.model_validate(settings("production").model_dump() | numbered)
    assert subjects(foundation(environment, tmp_path)) == {
        "hifi-production-plan": "repo:example@123456/hifi@456789:pull_request",
        "hifi-production-deploy": "repo:example@123456/hifi@456789:environment:production",
    }


def granted(stack: Stack, role: str) -> list[dict[str, Any]]:
    policies = [each for each in resources(stack, "aws_iam_policy") if each["name"].startswith(f"{role}-")]
    assert policies
    return [statement for policy in policies for statement in statements(policy)]


def test_a_plan_only_reads(production: Stack) -> None:
    verbs = {
        action.split(":")[1]
        for statement in granted(production, "hifi-production-plan")
        for action in statement["Action"]
    }
    assert all(verb.startswith(("BatchGet", "Decrypt", "Describe", "Get", "List", "View")) for verb in verbs)


def test_a_plan_reads_no_object_but_states(production: Stack) -> None:
    reads = [each for each in granted(production, "hifi-production-plan") if "s3:GetObject" in each["Action"]]
    state = "arn:aws:s3:::hifi-production-state-222222222222"
    assert [each["Resource"] for each in reads] == [[state, f"{state}/*"]]


DEPLOYER = "arn:aws:iam::222222222222:role/hifi-production-deployer"


def test_a_deployment_changes_no_role_but_those_of_sides_and_of_services(production: Stack) -> None:
    allowed = {
        "arn:aws:iam::222222222222:role/hifi-production-blue-*",
        "arn:aws:iam::222222222222:role/hifi-production-green-*",
        "arn:aws:iam::222222222222:role/aws-service-role/*",
    }
    reading = ("iam:Get", "iam:List")
    for statement in granted(production, "hifi-production-deploy"):
        iam = [each for each in statement["Action"] if each.startswith("iam:")]
        if any(not each.startswith(reading) for each in iam):
            passed = {DEPLOYER} if iam == ["iam:PassRole"] else set()
            assert set(statement["Resource"]) <= allowed | passed, statement["Sid"]


def test_roles_are_widened_only_within_the_boundary(production: Stack) -> None:
    widening = {"iam:CreateRole", "iam:AttachRolePolicy", "iam:PutRolePolicy"}
    boundary = "arn:aws:iam::222222222222:policy/hifi-production-boundary"
    found = [each for each in granted(production, "hifi-production-deploy") if widening & set(each["Action"])]
    assert found
    assert all(each["Condition"]["StringEquals"]["iam:PermissionsBoundary"] == boundary for each in found)
    granted_actions = {a for each in granted(production, "hifi-production-deploy") for a in each["Action"]}
    assert not granted_actions & {"iam:DeleteRolePermissionsBoundary", "iam:PutRolePermissionsBoundary"}
    assert not granted_actions & {"iam:CreatePolicyVersion", "iam:CreatePolicy", "iam:CreateUser"}


def test_a_deployment_writes_every_state_but_foundations(production: Stack) -> None:
    may = granted(production, "hifi-production-deploy")
    writes = [arn for each in may if "s3:PutObject" in each["Action"] for arn in each["Resource"]]
    files = {each.rsplit("/", 1)[1] for each in writes if "-state-" in each}
    assert [each for each in writes if "-state-" not in each] == [
        "arn:aws:s3:::hifi-production-versions-222222222222/*"
    ]
    stacks = ("blue", "green", "edge")
    assert files == {f"{stack}.tfstate{end}" for stack in stacks for end in ("", ".tflock")}


def test_no_role_within_the_boundary_can_take_on_another_that_has_none(production: Stack) -> None:
    boundary = statements(one(production, "aws_iam_policy", name="hifi-production-boundary"))
    allowed = {action for each in boundary if each["Effect"] == "Allow" for action in each["Action"]}
    assert not any(each.startswith(("sts:", "*")) for each in allowed)
    granted_actions = {a for each in granted(production, "hifi-production-deploy") for a in each["Action"]}
    assert not any(each.startswith(("sts:", "*")) for each in granted_actions)


def test_the_boundary_knows_no_iam_and_no_state(production: Stack) -> None:
    boundary = statements(one(production, "aws_iam_policy", name="hifi-production-boundary"))
    allowed = {action for each in boundary if each["Effect"] == "Allow" for action in each["Action"]}
    assert not any(each.startswith(("iam:", "*")) for each in allowed - {"iam:CreateServiceLinkedRole"})
    (denied,) = (each for each in boundary if each["Effect"] == "Deny")
    assert "arn:aws:s3:::hifi-production-state-222222222222/*" in denied["Resource"]


def test_a_deployment_may_change_the_alarms_by_which_volumes_grow(production: Stack) -> None:
    may = {
        action: statement["Resource"]
        for statement in granted(production, "hifi-production-deploy")
        for action in statement["Action"]
        if statement["Sid"] == "ChangeScalingAlarms"
    }
    alarms = ["arn:aws:cloudwatch:eu-west-1:222222222222:alarm:TargetTracking-*"]
    assert may == {"cloudwatch:PutMetricAlarm": alarms, "cloudwatch:DeleteAlarms": alarms}


def test_the_grant_of_a_clusters_key_needs_no_condition_that_eks_does_not_fulfil(production: Stack) -> None:
    grants = {
        alias: each["Condition"]
        for each in granted(production, "hifi-production-deploy")
        if each["Action"] == ["kms:CreateGrant"]
        for alias in each["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"]
    }
    names = [f"alias/hifi-production-{purpose}" for purpose in ("cluster", "kafka", "logs")]
    assert sorted(grants) == names
    assert ["Bool" in grants[name] for name in names] == [False, True, True]


def test_a_deployment_may_make_the_endpoints_with_private_names(
    synthesised: Synthesised, production: Stack
) -> None:
    endpoints = resources(synthesised("production")["blue"], "aws_vpc_endpoint")
    assert any(each.get("private_dns_enabled") for each in endpoints)
    actions = {action for each in granted(production, "hifi-production-deploy") for action in each["Action"]}
    assert {"ec2:CreateVpcEndpoint", "route53:AssociateVPCWithHostedZone"} <= actions
