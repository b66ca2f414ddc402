"""The part of EKS that moto lacks."""

from collections.abc import Callable
from typing import Any

from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.access import Access
from tests.deploy.aws.eks.addons import Addons
from tests.deploy.aws.eks.clusters import Clusters
from tests.deploy.aws.eks.launches import Launches
from tests.deploy.aws.eks.node_groups import NodeGroups
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.eks.pod_identities import PodIdentities
from tests.deploy.aws.eks.tags import Tags
from tests.deploy.aws.quotas import Quotas
from tests.deploy.aws.rest import RestService


def service(place: Place, parts: Parts, quotas: Quotas, autoscaling: Callable[[], Any]) -> RestService:
    """EKS of one account and region.

    Args:
        place: Account and region.
        parts: What there is.
        quotas: Quotas of the account.
        autoscaling: Gives a client of Auto Scaling, once the endpoint is known.
    """
    identities = PodIdentities(place, parts)
    operations = [
        Clusters(place, parts),
        Access(place, parts),
        Addons(place, parts, identities),
        identities,
        NodeGroups(place, parts, Launches(place, parts, quotas), autoscaling),
        Tags(parts),
    ]
    return RestService("eks", operations, list(parts))
