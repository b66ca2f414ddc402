"""Exposure of a side's load balancers: to the internet, or to connected networks only."""

from collections.abc import Sequence
from enum import StrEnum
from ipaddress import IPv4Network


class Exposure(StrEnum):
    """The networks from which a load balancer can be reached."""

    INTERNET = "internet"
    INTERNAL = "internal"


def check_ranges(field: str, exposure: Exposure, ranges: Sequence[IPv4Network]) -> None:
    """Check that the ranges of clients can be there with this exposure.

    Args:
        field: Name of the ranges' field, for the message.
        exposure: Of the load balancer.
        ranges: Address ranges of its clients.

    Raises:
        ValueError: It is internal, and a range is public.
    """
    if exposure is Exposure.INTERNAL and not all(each.is_private for each in ranges):
        raise ValueError(
            f"{field}: has public ranges, but exposure is internal; use ranges of connected networks, or "
            "exposure internet"
        )
