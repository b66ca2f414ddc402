"""The documents of EKS: clusters and their parts."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from tests.deploy.aws.documents import Documents
from tests.deploy.aws.rest import RefusedError


def _documents(kind: str) -> Documents:
    missing = RefusedError("ResourceNotFoundException", status=404)
    return Documents(kind, missing=missing, exists="ResourceInUseException")


@dataclass(frozen=True)
class Parts:
    """Documents by kind; the first part of each key is the cluster's name."""

    clusters: Documents = field(default_factory=lambda: _documents("cluster"))
    node_groups: Documents = field(default_factory=lambda: _documents("node group"))
    access_entries: Documents = field(default_factory=lambda: _documents("access entry"))
    access_policies: Documents = field(default_factory=lambda: _documents("access policy"))
    addons: Documents = field(default_factory=lambda: _documents("add-on"))
    pod_identities: Documents = field(default_factory=lambda: _documents("pod identity association"))

    def __iter__(self) -> Iterator[Documents]:
        return (getattr(self, each.name) for each in fields(self))
