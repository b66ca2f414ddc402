"""Divides a side's address range into subnets, without any AWS resource."""

from dataclasses import dataclass
from ipaddress import IPv4Network

from infra.sizes import ZONES

_LETTERS = "abc"


@dataclass(frozen=True, kw_only=True)
class ZonePlan:
    """One availability zone's subnets."""

    letter: str
    zone: str
    public: IPv4Network
    private: IPv4Network


def plan_zones(cidr: IPv4Network, *, region: str) -> tuple[ZonePlan, ...]:
    """Divide a range into a small public and a large private subnet for each zone.

    Each zone's private subnet gets a quarter of the range, since every pod has an address of its own. The
    public subnets hold only NAT gateways and share the last quarter.

    Args:
        cidr: The range; its prefix has at most `SMALLEST_PREFIX` bits.
        region: AWS region; its zones a, b and c are used.
    """
    quarters = list(cidr.subnets(prefixlen_diff=2))
    public = quarters[ZONES].subnets(prefixlen_diff=4)
    return tuple(
        ZonePlan(letter=letter, zone=f"{region}{letter}", public=small, private=large)
        for letter, small, large in zip(_LETTERS, public, quarters, strict=False)
    )
