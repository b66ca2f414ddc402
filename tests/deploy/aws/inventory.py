"""The contents of the local AWS, counted by kind, so that a test notices anything left behind."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from moto.core.base_backend import BackendDict

# Containers of moto's that hold no resources, and why.
BOOKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "acm _idempotency_tokens": "names of requests",
        "ec2 launch_template_insert_order": "every id there ever was",
        "ec2 tags": "stay when their thing, which is counted itself, is gone",
        "route53 delegation_sets": "one of every zone there ever was",
        "route53 resource_tags": "stay when their thing, which is counted itself, is gone",
    }
)
# Things that AWS still shows for an hour, or keeps until a key's waiting period is over.
GONE: Final = frozenset({"deleted", "PendingDeletion"})
# The owner of keys that AWS makes when a service first needs one, and never removes.
AWS: Final = "AWS"


def inventory(own: Iterable[tuple[str, int]]) -> Counter[str]:
    """Count what every service holds beyond what an account has by itself: images, a default network.

    Args:
        own: Name and number of what the services that are not moto's hold.
    """
    counts: Counter[str] = Counter({name: count for name, count in own if count})
    # The attribute belongs to the class, for services of every kind.
    services: list[Any] = BackendDict._instances  # type: ignore[misc]
    for service in services:
        for account in service.values():
            for backend in account.values():
                new = type(backend)(backend.region_name, backend.account_id)
                counts.update(_of(service.service_name, backend) - _of(service.service_name, new))
    return counts


def _of(service: str, backend: Any) -> Counter[str]:
    found = Counter({f"{service} {name}": _leaves(value) for name, value in vars(backend).items()})
    return Counter({name: count for name, count in found.items() if name not in BOOKS})


def _leaves(value: Any) -> int:
    """Number of things in a container of containers; 0 for anything else."""
    if isinstance(value, dict):
        return sum(_leaf(each) for each in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(_leaf(each) for each in value)
    return 0


def _leaf(value: Any) -> int:
    if isinstance(value, dict | list | tuple | set | frozenset):
        return _leaves(value)
    gone = not GONE.isdisjoint(_states(value))
    return 0 if gone or getattr(value, "key_manager", None) == AWS else 1


def _states(value: Any) -> list[str | None]:
    """The states of a resource; a peering connection has its state in a nested document."""
    status = getattr(value, "status", None)
    code = status.get("Code") if isinstance(status, dict) else None
    return [getattr(value, "state", None), getattr(value, "key_state", None), code]
