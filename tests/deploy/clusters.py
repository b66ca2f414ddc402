"""The clusters of a deployed side, as AWS describes them, and changes to them without Terraform."""

from typing import Any

from tests.deploy.aws.server import LocalAws


def kafka_of(aws: LocalAws, side: str) -> dict[str, Any]:
    """A side's only Kafka cluster."""
    found = aws.client("kafka").list_clusters_v2(ClusterNameFilter=f"hifi-local-{side}")["ClusterInfoList"]
    assert len(found) == 1
    cluster: dict[str, Any] = found[0]
    return cluster


def eks_of(aws: LocalAws, side: str) -> dict[str, Any]:
    """The Kubernetes cluster of a side."""
    cluster: dict[str, Any] = aws.client("eks").describe_cluster(name=f"hifi-local-{side}")["cluster"]
    return cluster


def runner_groups(aws: LocalAws, side: str) -> list[str]:
    """The security groups of a side's runner."""
    name = f"hifi-local-{side}-runner"
    (project,) = aws.client("codebuild").batch_get_projects(names=[name])["projects"]
    groups: list[str] = project["vpcConfig"]["securityGroupIds"]
    return groups


def node_security_groups(aws: LocalAws, side: str) -> list[str]:
    """The security groups of a side's nodes; all its launch templates must agree."""
    eks, ec2, cluster = aws.client("eks"), aws.client("ec2"), f"hifi-local-{side}"
    found = set()
    for name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]:
        template = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"][
            "launchTemplate"
        ]
        (version,) = ec2.describe_launch_template_versions(
            LaunchTemplateId=template["id"], Versions=[template["version"]]
        )["LaunchTemplateVersions"]
        found.add(tuple(version["LaunchTemplateData"]["SecurityGroupIds"]))
    (groups,) = found
    return list(groups)


def scaling_groups(aws: LocalAws, cluster: str) -> list[dict[str, Any]]:
    """The scaling group of each node group of a Kubernetes cluster."""
    eks = aws.client("eks")
    node_groups = [
        eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
        for name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]
    ]
    assert node_groups
    names = [group["name"] for each in node_groups for group in each["resources"]["autoScalingGroups"]]
    reply = aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=names)
    found: list[dict[str, Any]] = reply["AutoScalingGroups"]
    assert len(found) == len(node_groups)
    return found


def grow_volumes(aws: LocalAws, side: str) -> None:
    """Grow the volumes, as Kafka does by itself when they are full."""
    cluster = kafka_of(aws, side)
    storage = cluster["Provisioned"]["BrokerNodeGroupInfo"]["StorageInfo"]["EbsStorageInfo"]
    larger = {"KafkaBrokerNodeId": "All", "VolumeSizeGB": storage["VolumeSize"] + 10}
    aws.client("kafka").update_broker_storage(
        ClusterArn=cluster["ClusterArn"],
        CurrentVersion=cluster["CurrentVersion"],
        TargetBrokerEBSVolumeInfo=[larger],
    )


def start_a_node(aws: LocalAws, side: str) -> None:
    """Start a node in each node group, as the cluster autoscaler does."""
    eks, cluster = aws.client("eks"), f"hifi-local-{side}"
    for name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]:
        sizes = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]["scalingConfig"]
        eks.update_nodegroup_config(
            clusterName=cluster,
            nodegroupName=name,
            scalingConfig={"desiredSize": sizes["desiredSize"] + 1},
        )
