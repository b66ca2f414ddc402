"""Two sides in a simulated AWS with real control planes of Kubernetes, manifests and brokers."""

import base64
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.eks.models import eks_backends
from moto.kafka.models import kafka_backends

from pipelines.control.backends.aws.backend import AwsBackend
from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.settings import AwsSettings
from pipelines.control.backends.aws.versions import version_key
from pipelines.control.backends.aws.workloads import READABILITY
from pipelines.control.readability.answer import Reading
from shared.contracts.side_weights import SIDES
from shared.dynamodb.document_table import DocumentTable
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.token_reviews import token_reviews
from tests.harness.waiting import free_port
from tests.kubernetes.control_plane import ControlPlane, etcd
from tests.kubernetes.pods import Folder, Pods, answering, running
from tests.synth.workloads.manifests import WITH_PODS, WORKLOADS, named, of_kind, pod, render

OLD, NEW, REFUSES, LIGHT, DARK = "1.0.0", "1.1.0", "1.2.0", "blue", "green"
_ANSWERS: Final = {REFUSES: Reading(records={"events": 200}, refused={"events": 3})}
"""The answers of versions that do not read everything."""

_PLAYED: Final = "hifi-test/says"
"""Annotation of a pod run by KWOK: the termination message of its container."""

_PREFIX: Final = "hifi-test"
_CLUSTER: Final = WORKLOADS / "cluster"
_VERSIONS, _CHECKPOINTS = "hifi-test-versions", "hifi-test-checkpoints"
_DOMAIN: Final = "hifi.test"
_CUSTOM: Final = (
    ("keda.sh", "v1alpha1", "ScaledObject"),
    ("keda.sh", "v1alpha1", "TriggerAuthentication"),
    ("elbv2.k8s.aws", "v1beta1", "TargetGroupBinding"),
    ("monitoring.coreos.com", "v1", "PodMonitor"),
    ("monitoring.coreos.com", "v1", "PrometheusRule"),
)


class AwsPlace:
    """The backend, with its control planes and settings."""

    def __init__(self, backend: AwsBackend, planes: dict[str, ControlPlane], settings: AwsSettings) -> None:
        self.backend, self.planes, self.settings = backend, planes, settings

    @contextmanager
    def unreachable(self, side: str) -> Iterator[None]:
        """Until the block ends, new backends get an address at which no API of the side answers."""
        cluster = _clusters()[self.settings.cluster(side)]
        reached, cluster.endpoint = cluster.endpoint, f"https://127.0.0.1:{free_port()}"
        try:
            yield
        finally:
            cluster.endpoint = reached


@contextmanager
def aws_place(folder: Path, bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsPlace]:
    """Run a place until the block ends."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    address, http = _own_address(), {side: free_port() for side in SIDES}
    with ExitStack() as ending:
        url = ending.enter_context(local_aws())
        store = ending.enter_context(etcd(folder))
        reviews = ending.enter_context(token_reviews(_group()))
        kafka = {side: _make_kafka(url, f"{_PREFIX}-{side}") for side in SIDES}
        settings = _settings(url, bootstrap, _make_zone(url), kafka)
        planes = {}
        for side in SIDES:  # one after the other: the first one's ports are then taken
            plane = planes[side] = ControlPlane(side, folder / side, store, reviews, address)
            ending.enter_context(plane.running())
            _install(plane)
            _make_cluster(url, settings.cluster(side), plane)
        DocumentTable(settings.documents_table, url).ensure()
        s3 = client("s3", url)
        for bucket in (_VERSIONS, _CHECKPOINTS):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        for side in SIDES:
            for version in (OLD, NEW, REFUSES):
                found = json.dumps(_manifests(side, version, http[side])).encode()
                s3.put_object(Bucket=_VERSIONS, Key=version_key(version, side), Body=found)
        _make_edge(url, settings)
        for side in SIDES:
            code = Pods(planes[side].admin(), Folder(s3, _CHECKPOINTS, side), bootstrap)
            ending.enter_context(answering(code, address, http[side]))
            if side == DARK:  # alone: both sides share the brokers here
                ending.enter_context(running(code))
        yield AwsPlace(AwsBackend(settings), planes, settings)


def _own_address() -> str:
    """This machine's address beyond loopback: Kubernetes' proxy dials no loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("198.51.100.1", 9))  # sends nothing
        return str(asked.getsockname()[0])


def _settings(url: str, bootstrap: str, zone: str, kafka: Mapping[str, str]) -> AwsSettings:
    return AwsSettings(
        documents_table="hifi-test-documents",
        documents_endpoint=url,
        aws_region=REGION,
        aws_endpoint=url,
        aws_prefix=_PREFIX,
        aws_versions=_VERSIONS,
        aws_checkpoints=_CHECKPOINTS,
        aws_blue_kafka=kafka["blue"],
        aws_green_kafka=kafka["green"],
        aws_blue_bootstrap=bootstrap,
        aws_green_bootstrap=bootstrap,
        aws_zone=zone,
        aws_events_host=f"events.{_DOMAIN}",
        aws_management_hosts=f"api.{_DOMAIN},console.{_DOMAIN}",
        aws_weights_parameter=f"/{_PREFIX}/weights",
        aws_closed_parameter=f"/{_PREFIX}/closed-sides",
    )


def _manifests(side: str, version: str, http: int) -> list[Manifest]:
    """The overlay as a release renders it, with the version's images; observe and canary listen here."""
    found = render(WORKLOADS / "overlays" / side)
    for each in of_kind(found, *WITH_PODS):
        for container in pod(each)["containers"]:
            container["image"] = f"{container['image'].partition(':')[0]}:{version}"
            if each["metadata"]["name"] in ("observe", "canary"):
                container["ports"] = [{"name": "http", "containerPort": http}]
    asked = named(found, "CronJob", READABILITY)["spec"]["jobTemplate"]["spec"]["template"]
    answer = msgspec.json.encode(_ANSWERS.get(version, Reading())).decode()
    asked["metadata"]["annotations"] = {_PLAYED: answer}
    return found


def _group() -> str:
    """The deployer's Kubernetes group, with no rights but those in the manifests."""
    binding = named(render(_CLUSTER), "RoleBinding", "deployer")
    return str(binding["subjects"][0]["name"])


def _install(plane: ControlPlane) -> None:
    """Install the add-ons' kinds, the objects before a first version, and a volume as EBS makes one."""
    api = plane.admin()
    for group, version, kind in _CUSTOM:
        api.apply(_definition(group, version, kind))
    for each in sorted(render(_CLUSTER), key=lambda each: each["kind"] != "Namespace"):
        api.apply(each)
    api.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "state"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod"],
                "storageClassName": "hifi-state",
                "hostPath": {"path": "/state"},
            },
        }
    )


def _definition(group: str, version: str, kind: str) -> Manifest:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def _make_zone(url: str) -> str:
    made = client("route53", url).create_hosted_zone(Name=_DOMAIN, CallerReference="zone")
    return str(made["HostedZone"]["Id"])


def _make_kafka(url: str, name: str) -> str:
    """An MSK cluster of moto without brokers: the settings name those of the test."""
    made = client("kafka", url).create_cluster_v2(
        ClusterName=name,
        Provisioned={
            "BrokerNodeGroupInfo": {"ClientSubnets": ["subnet-1"], "InstanceType": "kafka.m7g.large"},
            "KafkaVersion": "4.1.x",
            "NumberOfBrokerNodes": 3,
        },
    )
    arn = str(made["ClusterArn"])
    kafka_backends[DEFAULT_ACCOUNT_ID][REGION].clusters[arn].state = "ACTIVE"
    return arn


def _make_cluster(url: str, name: str, plane: ControlPlane) -> None:
    """An EKS cluster of moto, with the API that runs here."""
    subnets: Any = {"subnetIds": ["subnet-1", "subnet-2"]}
    client("eks", url).create_cluster(
        name=name, roleArn="arn:aws:iam::123456789012:role/it", resourcesVpcConfig=subnets
    )
    cluster = _clusters()[name]
    cluster.endpoint = plane.url
    cluster.certificate_authority = {"data": base64.b64encode(plane.authority.encode()).decode()}


def _clusters() -> dict[str, Any]:
    found: dict[str, Any] = eks_backends[DEFAULT_ACCOUNT_ID][REGION].clusters
    return found


def _make_edge(url: str, settings: AwsSettings) -> None:
    """The weighted records and the parameters, as foundation and edge declare them."""
    ssm, route53 = client("ssm", url), client("route53", url)
    weights = json.dumps({LIGHT: 100, DARK: 0})
    ssm.put_parameter(Name=settings.aws_weights_parameter, Type="String", Value=weights)
    ssm.put_parameter(Name=settings.aws_closed_parameter, Type="String", Value="[]")
    hosts = (settings.aws_events_host, *settings.aws_management_hosts.split(","))
    for side in SIDES:
        for host in hosts:
            record: dict[str, Any] = {"Name": host, "Type": "CNAME", "SetIdentifier": side, "TTL": 30}
            record |= {
                "Weight": 100 if side == LIGHT else 0,
                "ResourceRecords": [{"Value": f"{side}.{_DOMAIN}"}],
            }
            changes = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
            route53.change_resource_record_sets(HostedZoneId=settings.aws_zone, ChangeBatch=changes)
