"""The local AWS refuses, like AWS, more than malformed requests: keys, quotas, permissions, reach."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.deploy.aws.calls import Call, read_call
from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.api import ForbiddenError, UnauthorizedError, UnreachableError
from tests.deploy.aws.server import LocalAws, serving

ELSEWHERE = Place(account="444444444444", region="eu-west-1")
ROOT = "arn:aws:iam::444444444444:root"
AUTOSCALING = (
    "arn:aws:iam::444444444444:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
)


@pytest.fixture(scope="module")
def aws() -> Iterator[LocalAws]:
    """A local AWS in an account of its own, with the role of Auto Scaling and a cluster."""
    with serving(ELSEWHERE) as local:
        local.client("iam").create_service_linked_role(AWSServiceName="autoscaling.amazonaws.com")
        local.client("eks").create_cluster(
            name="main",
            version="1.35",
            roleArn="arn:aws:iam::444444444444:role/cluster",
            resourcesVpcConfig={"subnetIds": _subnets(local), "endpointPrivateAccess": True},
            accessConfig={"authenticationMode": "API"},
        )
        yield local


def test_nodes_do_not_start_if_only_a_condition_names_auto_scaling(aws: LocalAws) -> None:
    """A statement for the account lends its rights to IAM policies, and that role has none for keys."""
    condition = {"ArnEquals": {"aws:PrincipalArn": AUTOSCALING}}
    key = _key(aws, _allow(ROOT, "kms:*"), _allow(ROOT, "kms:*", condition))
    group = _node_group(aws, "by-condition", key=key, nodes=1)
    assert group["status"] == "CREATE_FAILED"
    (issue,) = group["health"]["issues"]
    assert issue["code"] == "AsgInstanceLaunchFailures"
    assert "InvalidKMSKey" in issue["message"]


def test_nodes_start_if_the_keys_policy_names_the_role_of_auto_scaling(aws: LocalAws) -> None:
    key = _key(aws, _allow(ROOT, "kms:*"), _allow(AUTOSCALING, "kms:*"))
    assert _node_group(aws, "by-role", key=key, nodes=1)["status"] == "ACTIVE"


def test_a_key_cannot_name_a_role_that_does_not_exist(aws: LocalAws) -> None:
    with pytest.raises(ClientError, match="invalid principals"):
        _key(aws, _allow("arn:aws:iam::444444444444:role/nobody", "kms:*"))


def test_a_security_group_is_described_in_the_characters_that_ec2_takes(aws: LocalAws) -> None:
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    for refused in ("Runner of GitHub's jobs", "r" * 256):
        with pytest.raises(ClientError, match=r"InvalidParameterValue.*GroupDescription"):
            ec2.create_security_group(GroupName="described", Description=refused, VpcId=vpc)
    assert ec2.create_security_group(GroupName="described", Description="Runner (GitHub)", VpcId=vpc)


def test_nodes_beyond_the_quota_do_not_start(aws: LocalAws) -> None:
    key = _key(aws, _allow(AUTOSCALING, "kms:*"))
    group = _node_group(aws, "large", key=key, nodes=40)
    (issue,) = group["health"]["issues"]
    assert "VcpuLimitExceeded" in issue["message"]
    aws.client("eks").delete_nodegroup(clusterName="main", nodegroupName="large")


def test_addresses_end_with_the_quota_until_it_is_raised(aws: LocalAws) -> None:
    ec2, quotas = aws.client("ec2"), aws.client("service-quotas")
    for _ in range(5):
        ec2.allocate_address(Domain="vpc")
    with pytest.raises(ClientError, match="AddressLimitExceeded"):
        ec2.allocate_address(Domain="vpc")
    quotas.request_service_quota_increase(ServiceCode="ec2", QuotaCode="L-0263D0A3", DesiredValue=6)
    with pytest.raises(ClientError, match="AddressLimitExceeded"):
        ec2.allocate_address(Domain="vpc")
    aws.quotas.grant()
    assert ec2.allocate_address(Domain="vpc")["PublicIp"]


def test_a_role_may_do_no_more_than_its_policies_allow(aws: LocalAws) -> None:
    iam = aws.client("iam")
    iam.create_role(RoleName="reader", AssumeRolePolicyDocument="{}")
    iam.put_role_policy(
        RoleName="reader",
        PolicyName="reads",
        PolicyDocument=_policy(_grant("eks:Describe*", "ec2:Describe*")),
    )
    aws.roles["reader"] = "reader"
    eks, ec2, sns = (_client_of(aws, "reader", service) for service in ("eks", "ec2", "sns"))
    assert eks.describe_cluster(name="main")["cluster"]["name"] == "main"
    assert ec2.describe_vpcs()["Vpcs"]
    with pytest.raises(ClientError, match="not authorized to perform: eks:DeleteCluster"):
        eks.delete_cluster(name="main")
    with pytest.raises(ClientError, match="not authorized to perform: ec2:CreateVpc"):
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
    with pytest.raises(ClientError, match="not authorized to perform: sns:CreateTopic"):
        sns.create_topic(Name="one")


def test_eks_offers_addons_in_some_versions_only(aws: LocalAws) -> None:
    with pytest.raises(ClientError, match="not supported"):
        aws.client("eks").create_addon(
            clusterName="main", addonName="coredns", addonVersion="v0.0.1-eksbuild.1"
        )


def test_a_webhook_needs_a_connection_that_somebody_has_confirmed(aws: LocalAws) -> None:
    codebuild = aws.client("codebuild")
    connections = aws.client("codestar-connections")
    connection = connections.create_connection(ConnectionName="github", ProviderType="GitHub")
    subnets = aws.client("ec2").describe_subnets()["Subnets"]
    codebuild.create_project(
        name="runner",
        source={
            "type": "GITHUB",
            "location": "https://github.com/example/hifi.git",
            "auth": {"type": "CODECONNECTIONS", "resource": connection["ConnectionArn"]},
        },
        artifacts={"type": "NO_ARTIFACTS"},
        environment={"type": "LINUX_CONTAINER", "image": "i", "computeType": "BUILD_GENERAL1_SMALL"},
        serviceRole="arn:aws:iam::444444444444:role/runner",
        vpcConfig={"vpcId": subnets[0]["VpcId"], "subnets": [subnets[0]["SubnetId"]]},
    )
    with pytest.raises(ClientError, match="pending"):
        codebuild.create_webhook(projectName="runner")
    aws.connections.confirm()
    assert codebuild.create_webhook(projectName="runner")["webhook"]["url"]


def test_a_health_check_of_an_alarm_remembers_that_it_was_disabled_and_inverted(aws: LocalAws) -> None:
    route53 = aws.client("route53")
    made = route53.create_health_check(
        CallerReference="one",
        HealthCheckConfig={
            "Type": "CLOUDWATCH_METRIC",
            "AlarmIdentifier": {"Region": "eu-west-1", "Name": "any"},
            "InsufficientDataHealthStatus": "Unhealthy",
        },
    )["HealthCheck"]["Id"]
    route53.update_health_check(HealthCheckId=made, Disabled=True, Inverted=True)
    config = route53.get_health_check(HealthCheckId=made)["HealthCheck"]["HealthCheckConfig"]
    assert (config["Disabled"], config["Inverted"]) == (True, True)
    assert config["AlarmIdentifier"]["Name"] == "any"


def test_only_an_admitted_group_with_an_access_entry_and_rights_gets_into_the_api(aws: LocalAws) -> None:
    eks, ec2 = aws.client("eks"), aws.client("ec2")
    network = eks.describe_cluster(name="main")["cluster"]["resourcesVpcConfig"]
    runner = ec2.create_security_group(GroupName="r", Description="r", VpcId=network["vpcId"])["GroupId"]
    deployer = "arn:aws:iam::444444444444:role/deployer"
    with pytest.raises(UnreachableError):
        aws.kubernetes.call_from_vpc("main", groups=[runner], principal=deployer)
    ec2.authorize_security_group_ingress(
        GroupId=network["clusterSecurityGroupId"],
        IpPermissions=[
            {
                "IpProtocol": "tcp",
                "FromPort": 443,
                "ToPort": 443,
                "UserIdGroupPairs": [{"GroupId": runner}],
            }
        ],
    )
    with pytest.raises(UnauthorizedError):
        aws.kubernetes.call_from_vpc("main", groups=[runner], principal=deployer)
    eks.create_access_entry(clusterName="main", principalArn=deployer)
    with pytest.raises(ForbiddenError):
        aws.kubernetes.call_from_vpc("main", groups=[runner], principal=deployer)
    eks.associate_access_policy(
        clusterName="main",
        principalArn=deployer,
        policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        accessScope={"type": "cluster"},
    )
    aws.kubernetes.call_from_vpc("main", groups=[runner], principal=deployer)
    with pytest.raises(UnreachableError):
        aws.kubernetes.call_from_internet("main", address="203.0.113.7", principal=deployer)
    grouped = "arn:aws:iam::444444444444:role/grouped"
    eks.create_access_entry(clusterName="main", principalArn=grouped, kubernetesGroups=["any"])
    aws.kubernetes.call_from_vpc("main", groups=[runner], principal=grouped)


@pytest.mark.parametrize(
    ("service", "request_line", "operation"),
    [
        ("route53", "GET /2013-04-01/hostedzone/Z1/rrset?name=a", "ListResourceRecordSets"),
        ("route53", "POST /2013-04-01/hostedzone/Z1/rrset/", "ChangeResourceRecordSets"),
        ("route53", "GET /2013-04-01/change/C1", "GetChange"),
        ("s3", "GET /bucket?acl=", "GetBucketAcl"),
        ("s3", "PUT /bucket", "CreateBucket"),
        ("eks", "POST /clusters/main/node-groups", "CreateNodegroup"),
        ("kafka", "GET /api/v2/clusters/arn%3Aaws%3Akafka", "DescribeClusterV2"),
    ],
)
def test_a_request_means_an_operation(service: str, request_line: str, operation: str) -> None:
    method, _, uri = request_line.partition(" ")
    scope = f"AWS4-HMAC-SHA256 Credential=key/20260101/eu-west-1/{service}/aws4_request, SignedHeaders=host"
    call = read_call({"REQUEST_METHOD": method, "REQUEST_URI": uri, "HTTP_AUTHORIZATION": scope})
    assert call == Call("key", service, operation)


def _subnets(aws: LocalAws) -> list[str]:
    return [each["SubnetId"] for each in aws.client("ec2").describe_subnets()["Subnets"]]


def _client_of(aws: LocalAws, key: str, service: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=aws.endpoint,
        region_name=ELSEWHERE.region,
        aws_access_key_id=key,
        aws_secret_access_key="any",
    )


def _allow(principal: str, action: str, condition: dict[str, Any] | None = None) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": action, "Resource": "*"}
    return statement if condition is None else {**statement, "Condition": condition}


def _grant(*actions: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": "*"}


def _policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _key(aws: LocalAws, *statements: dict[str, Any]) -> str:
    made = aws.client("kms").create_key(Policy=_policy(*statements))
    return str(made["KeyMetadata"]["Arn"])


def _node_group(aws: LocalAws, name: str, *, key: str, nodes: int) -> dict[str, Any]:
    volume = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": key}}
    template = aws.client("ec2").create_launch_template(
        LaunchTemplateName=name, LaunchTemplateData={"BlockDeviceMappings": [volume]}
    )["LaunchTemplate"]["LaunchTemplateId"]
    made = aws.client("eks").create_nodegroup(
        clusterName="main",
        nodegroupName=name,
        scalingConfig={"minSize": 0, "maxSize": 50, "desiredSize": nodes},
        subnets=_subnets(aws),
        nodeRole="arn:aws:iam::444444444444:role/node",
        instanceTypes=["m7g.large"],
        launchTemplate={"id": template, "version": "1"},
    )
    group: dict[str, Any] = made["nodegroup"]
    return group
