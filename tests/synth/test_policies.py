from fnmatch import fnmatch

import pytest

from infra.aws.policy import Statement, policy_document
from tests.synth.conftest import ENVIRONMENTS, Synthesised
from tests.synth.terraform import every_resource, statements


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_permission_for_everything_has_a_written_reason(synthesised: Synthesised, name: str) -> None:
    seen = 0
    for stack in synthesised(name).values():
        for kind, resource in every_resource(stack):
            for statement in statements(resource):
                if statement["Effect"] == "Allow" and "*" in statement.get("Resource", []):
                    seen += 1
                    reasons = resource["//"].get("reasons", {})
                    assert reasons.get(statement["Sid"]), f"{kind} {resource['//']['metadata']['path']}"
    assert seen


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_permission_is_for_every_action(synthesised: Synthesised, name: str) -> None:
    for stack in synthesised(name).values():
        for _, resource in every_resource(stack):
            allowed = (each for each in statements(resource) if each["Effect"] == "Allow")
            assert not any("*" in statement["Action"] for statement in allowed)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_parameter_is_read_but_those_of_the_traffic(synthesised: Synthesised, name: str) -> None:
    """A plan runs the code of a pull request; other parameters of the account may be secret."""
    own = {f"parameter/hifi-{name}/{each}" for each in ("weights", "closed-sides")}
    readers = set()
    for stack in synthesised(name).values():
        for _, resource in every_resource(stack):
            for statement in statements(resource):
                allowed = statement["Action"] if statement["Effect"] == "Allow" else []
                if any(fnmatch("ssm:GetParameter", action) for action in allowed):
                    assert {each.rpartition(":")[2] for each in statement["Resource"]} <= own
                    readers.add(resource.get("name"))
    assert readers >= {f"hifi-{name}-plan-read", f"hifi-{name}-deploy-read"}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_role_of_a_side_is_bounded(synthesised: Synthesised, name: str) -> None:
    for side in ("blue", "green"):
        roles = [each for kind, each in every_resource(synthesised(name)[side]) if kind == "aws_iam_role"]
        assert roles
        for role in roles:
            assert role["permissions_boundary"].endswith(f":policy/hifi-{name}-boundary")
            assert role["name"].startswith(f"hifi-{name}-{side}-")


def test_a_statement_for_everything_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="give the reason"):
        Statement(sid="All", actions=["s3:GetObject"], resources=["*"])


def test_a_document_leaves_out_what_is_empty() -> None:
    text = policy_document([Statement(sid="One", actions=["s3:GetObject"], resources=["arn:aws:s3:::a/*"])])
    assert "Condition" not in text
    assert "Principal" not in text
