"""How a side's address range is cut into subnets. Pure."""

from dataclasses import dataclass
from ipaddress import IPv4Network

from infra.sizes import ZONES

_LETTERS = "abc"


@dataclass(frozen=True, kw_only=True)
class ZonePlan:
    """One availability zone's share of the range."""

    letter: str
    zone: str
    public: IPv4Network
    private: IPv4Network


def plan_zones(cidr: IPv4Network, *, region: str) -> tuple[ZonePlan, ...]:
    """Cut a range into a small public and a large private subnet for each zone.

    A quarter of the range goes to each zone's private subnet, where every pod takes an address of its own;
    the public subnets hold only NAT gateways and share the last quarter.

    Args:
        cidr: The range; settings hold none longer than `SMALLEST_PREFIX`.
        region: AWS region whose zones a, b and c are used.
    """
    quarters = list(cidr.subnets(prefixlen_diff=2))
    public = quarters[ZONES].subnets(prefixlen_diff=4)
    return tuple(
        ZonePlan(letter=letter, zone=f"{region}{letter}", public=small, private=large)
        for letter, small, large in zip(_LETTERS, public, quarters, strict=False)
    )
