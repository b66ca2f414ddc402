"""The part of EKS that moto lacks."""

from collections.abc import Callable
from typing import Any

from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.access import Access
from tests.deploy.aws.eks.addons import Addons
from tests.deploy.aws.eks.clusters import Clusters
from tests.deploy.aws.eks.node_groups import NodeGroups
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.eks.pod_identities import PodIdentities
from tests.deploy.aws.eks.tags import Tags
from tests.deploy.aws.rest import RestService


def service(place: Place, autoscaling: Callable[[], Any]) -> RestService:
    """EKS of one account and region.

    Args:
        place: Account and region.
        autoscaling: Gives a client of Auto Scaling, once the endpoint is known.
    """
    parts = Parts()
    identities = PodIdentities(place, parts)
    operations = [
        Clusters(place, parts),
        Access(place, parts),
        Addons(place, parts, identities),
        identities,
        NodeGroups(place, parts, autoscaling),
        Tags(parts),
    ]
    return RestService("eks", operations, list(parts))
