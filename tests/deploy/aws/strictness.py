"""Refusals of requests that AWS refuses and moto accepts."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from moto.core.exceptions import JsonRESTError
from moto.ec2.exceptions import InvalidParameterValueError
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.iam.models import iam_backends
from moto.kms.models import KmsBackend

_CREATE_GROUP: Final[Any] = SecurityGroupBackend.create_security_group
_CREATE_KEY: Final[Any] = KmsBackend.create_key
_PUT_POLICY: Final[Any] = KmsBackend.put_key_policy
_DESCRIPTION: Final = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}")
"""Description of a security group. The AWS provider itself checks that of a rule."""


class MalformedPolicyError(JsonRESTError):
    """A key's policy names a principal that does not exist."""

    def __init__(self) -> None:
        super().__init__("MalformedPolicyDocumentException", "Policy contains invalid principals.")


def create_key(backend: Any, policy: str | None, *given: Any, **named: Any) -> Any:
    """Like moto's, which accepts any principal."""
    _check_principals(backend.account_id, policy)
    return _CREATE_KEY(backend, policy, *given, **named)


def put_key_policy(backend: Any, key_id: str, policy: str) -> Any:
    """Like moto's, which accepts any principal."""
    _check_principals(backend.account_id, policy)
    return _PUT_POLICY(backend, key_id, policy)


def create_security_group(backend: Any, name: str, description: str, *given: Any, **named: Any) -> Any:
    """Like moto's, which accepts any description."""
    if description and not _DESCRIPTION.fullmatch(description):
        raise InvalidParameterValueError(f"({description}) for parameter GroupDescription")
    return _CREATE_GROUP(backend, name, description, *given, **named)


def _check_principals(account: str, policy: str | None) -> None:
    roles = {each.arn for each in iam_backends[account]["aws"].roles.values()}
    statements = json.loads(policy)["Statement"] if policy else []
    for statement in statements:
        principal = statement.get("Principal")
        named = principal.get("AWS", []) if isinstance(principal, dict) else []
        for arn in [named] if isinstance(named, str) else named:
            if ":role/" in arn and arn not in roles:
                raise MalformedPolicyError


STRICT: Final[Mapping[tuple[type, str], Any]] = MappingProxyType(
    {
        (KmsBackend, "create_key"): create_key,
        (KmsBackend, "put_key_policy"): put_key_policy,
        (SecurityGroupBackend, "create_security_group"): create_security_group,
    }
)
