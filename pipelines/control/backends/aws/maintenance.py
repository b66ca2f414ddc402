"""Whether AWS itself is changing a side's brokers or machines."""

from collections.abc import Sequence
from typing import Any, Final

from pipelines.control.deploy.backend import Obstacle

_ACTIVE: Final = "ACTIVE"


def maintenance(kafka: Any, kafka_arn: str, eks: Any, cluster: str) -> Sequence[Obstacle]:
    """Updates that are running; each passes.

    Args:
        kafka: client of MSK.
        kafka_arn: the side's MSK cluster.
        eks: client.
        cluster: name of the side's EKS cluster.
    """
    texts = []
    if (state := kafka.describe_cluster_v2(ClusterArn=kafka_arn)["ClusterInfo"]["State"]) != _ACTIVE:
        texts.append(f"the brokers of {cluster} are {state.lower()}")
    if (status := eks.describe_cluster(name=cluster)["cluster"]["status"]) != _ACTIVE:
        texts.append(f"the Kubernetes API of {cluster} is {status.lower()}")
    for name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]:
        group = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
        if group["status"] == "UPDATING":
            texts.append(f"nodes {name} of {cluster} are being updated")
    return [Obstacle(text=text, lasting=False) for text in texts]
