"""The local MSK and EKS refuse what AWS refuses: a stack that breaks these rules must not pass here."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deploy.aws.documents import Place
from tests.deploy.aws.server import LocalAws, serving

ELSEWHERE = Place(account="111111111111", region="eu-west-1")


@pytest.fixture(scope="module")
def aws() -> Iterator[LocalAws]:
    """A local AWS in an account of its own."""
    with serving(ELSEWHERE) as local:
        yield local


@pytest.fixture(scope="module")
def subnets(aws: LocalAws) -> list[str]:
    """A subnet in each of three zones."""
    found = aws.client("ec2").describe_subnets()["Subnets"]
    assert len({each["AvailabilityZone"] for each in found}) == len(found) == 3
    return [each["SubnetId"] for each in found]


@pytest.fixture(scope="module")
def configuration(aws: LocalAws) -> str:
    """ARN of a configuration named `base`."""
    made = aws.client("kafka").create_configuration(Name="base", ServerProperties=b"a=1")
    return str(made["Arn"])


def test_tags_that_are_added_to_one_group_at_once_are_all_kept(aws: LocalAws, subnets: list[str]) -> None:
    scaling, names = aws.client("autoscaling"), [f"tag-{number}" for number in range(200)]
    scaling.create_launch_configuration(
        LaunchConfigurationName="tagged", ImageId="ami-1", InstanceType="m6i.large"
    )
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="tagged",
        LaunchConfigurationName="tagged",
        MinSize=0,
        MaxSize=0,
        VPCZoneIdentifier=subnets[0],
    )

    def add(name: str) -> None:
        tag = {"ResourceId": "tagged", "ResourceType": "auto-scaling-group", "Key": name, "Value": "1"}
        scaling.create_or_update_tags(Tags=[{**tag, "PropagateAtLaunch": False}])

    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that one request can interrupt another anywhere
    try:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(add, names))
    finally:
        sys.setswitchinterval(switch_seconds)
    (group,) = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["tagged"])["AutoScalingGroups"]
    scaling.delete_auto_scaling_group(AutoScalingGroupName="tagged", ForceDelete=True)
    assert {each["Key"] for each in group["Tags"]} == set(names)


def test_a_request_of_ec2_that_is_sent_again_makes_nothing_twice(aws: LocalAws) -> None:
    ec2 = aws.client("ec2")
    request = {
        "LaunchTemplateName": "again",
        "LaunchTemplateData": {"MetadataOptions": {"HttpTokens": "required"}},
    }
    first, second = (ec2.create_launch_template(**request, ClientToken="one") for _ in range(2))
    assert second["LaunchTemplate"]["LaunchTemplateId"] == first["LaunchTemplate"]["LaunchTemplateId"]
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        ec2.create_launch_template(**request | {"LaunchTemplateName": "other"}, ClientToken="one")
    with pytest.raises(ClientError, match="AlreadyExists"):
        ec2.create_launch_template(**request, ClientToken="two")


def test_msk_takes_a_configuration_s_name_once(aws: LocalAws, configuration: str) -> None:
    with pytest.raises(ClientError, match="base exists"):
        aws.client("kafka").create_configuration(Name="base", ServerProperties=b"a=2")


def test_msk_wants_brokers_in_every_zone(aws: LocalAws, configuration: str, subnets: list[str]) -> None:
    with pytest.raises(ClientError, match="multiple of the zones"):
        _kafka_cluster(aws, configuration, subnets, brokers=4)
    with pytest.raises(ClientError, match="different zones"):
        _kafka_cluster(aws, configuration, [subnets[0], subnets[0]], brokers=2)


def test_msk_keeps_a_configuration_while_a_cluster_uses_it(
    aws: LocalAws, configuration: str, subnets: list[str]
) -> None:
    kafka = aws.client("kafka")
    cluster = _kafka_cluster(aws, configuration, subnets, brokers=3)
    with pytest.raises(ClientError, match="in use"):
        kafka.delete_configuration(Arn=configuration)
    kafka.delete_cluster(ClusterArn=cluster)
    assert kafka.delete_configuration(Arn=configuration)["State"] == "DELETING"
    with pytest.raises(kafka.exceptions.NotFoundException):
        kafka.describe_cluster_v2(ClusterArn=cluster)


def test_eks_wants_two_zones(aws: LocalAws, subnets: list[str]) -> None:
    with pytest.raises(ClientError, match="two different zones"):
        _eks_cluster(aws, subnets[:1])


def test_eks_keeps_a_cluster_while_a_node_group_is_left(aws: LocalAws, subnets: list[str]) -> None:
    eks, scaling = aws.client("eks"), aws.client("autoscaling")
    _eks_cluster(aws, subnets)
    made = _node_group(aws, subnets)
    (group,) = made["resources"]["autoScalingGroups"]
    assert len(scaling.describe_auto_scaling_groups()["AutoScalingGroups"]) == 1
    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.delete_cluster(name="main")
    eks.delete_nodegroup(clusterName="main", nodegroupName="workers")
    assert (
        scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[group["name"]])["AutoScalingGroups"] == []
    )
    eks.delete_cluster(name="main")
    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.describe_cluster(name="main")


def test_an_operation_that_is_missing_names_itself(aws: LocalAws) -> None:
    with pytest.raises(ClientError, match="no ListReplicators"):
        aws.client("kafka").list_replicators()


def _kafka_cluster(aws: LocalAws, configuration: str, subnets: list[str], *, brokers: int) -> str:
    made = aws.client("kafka").create_cluster_v2(
        ClusterName="main",
        Provisioned={
            "BrokerNodeGroupInfo": {"ClientSubnets": subnets, "InstanceType": "kafka.m7g.large"},
            "ConfigurationInfo": {"Arn": configuration, "Revision": 1},
            "KafkaVersion": "4.1.x.kraft",
            "NumberOfBrokerNodes": brokers,
        },
    )
    return str(made["ClusterArn"])


def _eks_cluster(aws: LocalAws, subnets: list[str]) -> None:
    aws.client("eks").create_cluster(
        name="main",
        version="1.35",
        roleArn="arn:aws:iam::111111111111:role/cluster",
        resourcesVpcConfig={"subnetIds": subnets},
    )


def _node_group(aws: LocalAws, subnets: list[str]) -> dict[str, Any]:
    template = aws.client("ec2").create_launch_template(
        LaunchTemplateName="workers", LaunchTemplateData={"MetadataOptions": {"HttpTokens": "required"}}
    )["LaunchTemplate"]["LaunchTemplateId"]
    made = aws.client("eks").create_nodegroup(
        clusterName="main",
        nodegroupName="workers",
        scalingConfig={"minSize": 0, "maxSize": 3, "desiredSize": 0},
        subnets=subnets,
        nodeRole="arn:aws:iam::111111111111:role/node",
        launchTemplate={"id": template, "version": "1"},
    )
    group: dict[str, Any] = made["nodegroup"]
    return group
