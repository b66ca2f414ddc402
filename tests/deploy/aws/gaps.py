"""Replaces parts that moto's services lack or get wrong."""

import json
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from moto import settings
from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse
from moto.budgets.responses import BudgetsResponse
from moto.elbv2.models import ELBv2Backend
from moto.s3.models import FakeBucket

from tests.deploy.aws.forgotten import REMEMBERED
from tests.deploy.aws.strictness import STRICT


def describe_subscribers_for_notification(response: Any) -> str:
    """The subscribers to a budget's notification."""
    budget = response.backend.budgets[response._get_param("AccountId")][response._get_param("BudgetName")]
    wanted = _threshold(response._get_param("Notification"))
    told = [each.subscribers for each in budget.notifications if _threshold(each.details) == wanted]
    return json.dumps({"Subscribers": told[0] if told else []})


def list_tags_of_budget(response: Any) -> str:
    """Tags of a budget, as given at its creation."""
    arn = response._get_param("ResourceARN")
    account, name = arn.split(":")[4], arn.rpartition("/")[2]
    return json.dumps({"ResourceTags": response.backend.budgets[account][name].budget["ResourceTags"]})


def list_tags_of_target(response: Any) -> str:
    """Tags of a scalable target, as given at its registration."""
    arn = response._get_param("ResourceARN")
    targets = (
        each for kind in response.applicationautoscaling_backend.targets.values() for each in kind.values()
    )
    tags = [each.__dict__.get("tags", {}) for each in targets if each.arn == arn]
    return json.dumps({"Tags": tags[0] if tags else {}})


def register_scalable_target(response: Any) -> str:
    """Like moto's, which forgets the tags."""
    reply: str = _REGISTER_TARGET(response)
    kinds = response.applicationautoscaling_backend.targets
    dimension, name = response._get_param("ScalableDimension"), response._get_param("ResourceId")
    tags = response._get_param("Tags")
    if tags is not None:
        kinds[dimension][name].tags = tags
    return reply


def create_budget(response: Any) -> str:
    """Like moto's, which forgets the tags."""
    tags = response._get_param("ResourceTags", [])
    reply: str = _CREATE_BUDGET(response)
    budget = response._get_param("Budget")["BudgetName"]
    response.backend.budgets[response._get_param("AccountId")][budget].budget["ResourceTags"] = tags
    return reply


def create_load_balancer(backend: Any, *given: Any, **named: Any) -> Any:
    """Like moto's, which is active only at a second look: the provider looks every half minute."""
    balancer = _CREATE_BALANCER(backend, *given, **named)
    balancer.activate()
    return balancer


def log_delivery_is_allowed(target_bucket: Any, target_prefix: str | None) -> bool:
    """Whether a bucket's policy lets S3 deliver logs; moto understands a single resource only, no list."""
    policy = json.loads(target_bucket.policy.decode()) if target_bucket.policy else {"Statement": []}
    objects = f"arn:{target_bucket.partition}:s3:::{target_bucket.name}/"
    wanted = {f"{objects}*", f"{objects}{target_prefix or ''}*"}
    return any(
        each["Effect"] == "Allow"
        and each["Principal"].get("Service") == "logging.s3.amazonaws.com"
        and "s3:PutObject" in each["Action"]
        and wanted & set(_listed(each["Resource"]))
        for each in policy["Statement"]
    )


_CREATE_BALANCER: Callable[..., Any] = ELBv2Backend.create_load_balancer
_CREATE_BUDGET: Callable[[Any], str] = BudgetsResponse.create_budget
_REGISTER_TARGET: Callable[[Any], str] = ApplicationAutoScalingResponse.register_scalable_target
_PATCHED: Mapping[tuple[type, str], Any] = MappingProxyType(
    {
        (ApplicationAutoScalingResponse, "list_tags_for_resource"): list_tags_of_target,
        (ApplicationAutoScalingResponse, "register_scalable_target"): register_scalable_target,
        (BudgetsResponse, "create_budget"): create_budget,
        (BudgetsResponse, "describe_subscribers_for_notification"): describe_subscribers_for_notification,
        (BudgetsResponse, "list_tags_for_resource"): list_tags_of_budget,
        (ELBv2Backend, "create_load_balancer"): create_load_balancer,
        (FakeBucket, "_log_permissions_enabled_policy"): staticmethod(log_delivery_is_allowed),
    }
)


def fill_gaps() -> None:
    """Patch moto in this process; idempotent."""
    # Otherwise a certificate is issued a minute after its request.
    settings.ACM_VALIDATION_WAIT = 0
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    for (owner, name), patched in {**_PATCHED, **REMEMBERED, **STRICT}.items():
        setattr(owner, name, patched)


def _threshold(notification: Mapping[str, Any]) -> tuple[Any, ...]:
    """The fields that identify a notification, without its alarm state."""
    return tuple(notification.get(part) for part in ("NotificationType", "ComparisonOperator", "Threshold"))


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
