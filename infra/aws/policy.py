"""IAM policies as typed statements; a statement about every resource has to say why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # A policy is plain text: to write one, no node has to be started.
    from cdktf import TerraformElement

ANY = "*"
Values = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a policy.

    Attributes:
        sid: Name of the statement: letters and digits, unique in its policy.
        actions: IAM actions, such as `s3:GetObject`.
        resources: ARNs. Empty in a role's trust policy.
        effect: Whether it allows or denies.
        principals: Who may, by kind: `{"Service": "eks.amazonaws.com"}`. Empty in a policy of an identity.
        conditions: `{operator: {key: value or values}}`.
        reason: Why it is allowed for every resource; needed when `resources` holds `*`.

    Raises:
        ValueError: It allows something for every resource and does not say why.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[str] = ()
    effect: Literal["Allow", "Deny"] = "Allow"
    principals: Values = field(default_factory=dict)
    conditions: Mapping[str, Values] = field(default_factory=dict)
    reason: str = ""

    def __post_init__(self) -> None:
        if self.effect == "Allow" and ANY in self.resources and not self.reason:
            raise ValueError(f"{self.sid}: allows {ANY}; name the resources, or give the reason")

    def as_json(self) -> dict[str, Any]:
        """The statement in IAM's JSON language, without the parts it does not use."""
        parts = {
            "Sid": self.sid,
            "Effect": self.effect,
            "Principal": dict(self.principals),
            "Action": sorted(self.actions),
            "Resource": list(self.resources),
            "Condition": {operator: dict(values) for operator, values in self.conditions.items()},
        }
        return {name: part for name, part in parts.items() if part}


def policy_document(statements: Sequence[Statement]) -> str:
    """The statements as the text of one IAM policy."""
    return json.dumps({"Version": "2012-10-17", "Statement": [each.as_json() for each in statements]})


def write_reasons(element: "TerraformElement", statements: Sequence[Statement]) -> None:
    """Write the statements' reasons beside the policy, into the part of the Terraform that is comment.

    Args:
        element: The resource that holds the policy.
        statements: What the policy consists of.
    """
    reasons = {each.sid: each.reason for each in statements if each.reason}
    if reasons:
        element.add_override("//.reasons", reasons)
