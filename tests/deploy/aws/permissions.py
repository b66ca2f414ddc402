"""A role's rights, from its policies in the local IAM, and AWS's answer to a forbidden call."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from moto.iam.models import iam_backends
from werkzeug.wrappers import Response

from tests.deploy.aws.calls import Call
from tests.deploy.aws.documents import Place

# IAM prefixes of services that sign under another name.
_PREFIXES = {"monitoring": "cloudwatch"}
# IAM actions that are named differently from their operations.
_ACTIONS = {
    ("s3", "GetBucketAccelerateConfiguration"): "GetAccelerateConfiguration",
    ("s3", "GetBucketCors"): "GetBucketCORS",
    ("s3", "GetBucketEncryption"): "GetEncryptionConfiguration",
    ("s3", "GetBucketLifecycleConfiguration"): "GetLifecycleConfiguration",
    ("s3", "GetBucketReplication"): "GetReplicationConfiguration",
    ("s3", "HeadBucket"): "ListBucket",
    ("s3", "HeadObject"): "GetObject",
}
# AWS answers these calls to every caller.
FREE = {"sts:GetCallerIdentity"}
_XML = {"ec2", "iam", "sns", "elasticloadbalancing", "autoscaling", "monitoring", "route53", "s3", "sts"}


def action_of(call: Call) -> str:
    """The IAM action of a call, such as `kafka:CreateClusterV2`."""
    name = _ACTIONS.get((call.service, call.operation), call.operation)
    return f"{_PREFIXES.get(call.service, call.service)}:{name}"


def allowed_patterns(place: Place, role: str) -> set[str]:
    """The actions, some with `*`, that a role's policies allow."""
    return {action for each in _statements(place, role) for action in _listed(each["Action"])}


def may(patterns: set[str], action: str) -> bool:
    """Whether one of the patterns covers an action."""
    return action in FREE or any(fnmatchcase(action.lower(), each.lower()) for each in patterns)


def refusal(call: Call, role: str) -> Response:
    """AWS's answer to a call that a role may not make."""
    message = f"role/{role} is not authorized to perform: {action_of(call)}"
    if call.service not in _XML:
        return Response(
            json.dumps({"__type": "AccessDeniedException", "message": message}),
            400,
            content_type="application/x-amz-json-1.1",
            headers={"x-amzn-errortype": "AccessDeniedException"},
        )
    if call.service == "ec2":
        return ec2_error("UnauthorizedOperation", message, status=403)
    error = f"<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>"
    text = f"<ErrorResponse>{error}<RequestId>0</RequestId></ErrorResponse>"
    return Response(text, 403, content_type="text/xml")


def ec2_error(code: str, message: str, *, status: int = 400) -> Response:
    """An error in EC2's form."""
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Response(f"<Response><Errors>{error}</Errors></Response>", status, content_type="text/xml")


def _statements(place: Place, role: str) -> Iterator[dict[str, Any]]:
    iam = iam_backends[place.account]["aws"]
    found: Any = iam.get_role(role)
    documents = [
        version.document
        for policy in found.managed_policies.values()
        for version in policy.versions
        if version.is_default
    ]
    documents += list(found.policies.values())
    for document in documents:
        parsed = json.loads(document) if isinstance(document, str) else document
        yield from (each for each in parsed["Statement"] if each["Effect"] == "Allow")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
