"""IAM policies as typed statements; one that allows every resource must give a reason."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # a policy is text, and importing cdktf starts a Node.js process
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
        effect: Allow or deny.
        principals: By kind: `{"Service": "eks.amazonaws.com"}`. Empty in a policy of an identity.
        conditions: `{operator: {key: value or values}}`.
        reason: Why every resource is allowed; required if `resources` contains `*`.

    Raises:
        ValueError: It allows every resource and gives no reason.
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
            raise ValueError(
                f"statement {self.sid}: resources contains {ANY}; list the ARNs, or give the reason"
            )

    def as_json(self) -> dict[str, Any]:
        """The statement in IAM's JSON language, without empty parts."""
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
    """The JSON text of a policy with these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": [each.as_json() for each in statements]})


def write_reasons(element: "TerraformElement", statements: Sequence[Statement]) -> None:
    """Write the statements' reasons into the comment (`//`) of the resource in the Terraform JSON.

    Args:
        element: The resource that has the policy.
        statements: Statements of the policy.
    """
    reasons = {each.sid: each.reason for each in statements if each.reason}
    if reasons:
        element.add_override("//.reasons", reasons)
