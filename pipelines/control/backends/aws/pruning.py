"""Which objects of former versions are deleted when another version is started, by their paths. Pure."""

from collections.abc import Collection, Sequence
from typing import Final

_EXCLUSIVE: Final = ("/scaledobjects/", "/targetgroupbindings/")
"""Kinds of which a target has one.

KEDA's webhook refuses a second autoscaler of a workload, that of AWS's load balancer controller a second
binding of a target group.
"""

_KEPT: Final = "/configmaps/"
"""Pods that end may still name them."""


def deleted_first(before: Collection[str], paths: Collection[str]) -> Sequence[str]:
    """Paths to delete before a version is applied, or what replaces them under another name is refused.

    Args:
        before: of what versions before may have left.
        paths: of the version.
    """
    return sorted(path for path in {*before} - {*paths} if any(kind in path for kind in _EXCLUSIVE))


def deleted_last(before: Collection[str], paths: Collection[str]) -> Sequence[str]:
    """Paths to delete after a version is applied; the arguments are those of `deleted_first`."""
    return sorted(path for path in {*before} - {*paths} if _KEPT not in path)
