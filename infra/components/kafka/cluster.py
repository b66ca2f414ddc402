"""A side's Kafka: an MSK cluster over three zones; clients connect by TLS and authenticate by IAM."""

from collections.abc import Sequence

from cdktf import Fn, TerraformLocal, TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.msk_cluster import (
    MskCluster,
    MskClusterBrokerNodeGroupInfo,
    MskClusterBrokerNodeGroupInfoStorageInfo,
    MskClusterBrokerNodeGroupInfoStorageInfoEbsStorageInfo,
    MskClusterClientAuthentication,
    MskClusterClientAuthenticationSasl,
    MskClusterConfigurationInfo,
    MskClusterEncryptionInfo,
    MskClusterEncryptionInfoEncryptionInTransit,
    MskClusterLoggingInfo,
    MskClusterLoggingInfoBrokerLogs,
    MskClusterLoggingInfoBrokerLogsCloudwatchLogs,
    MskClusterOpenMonitoring,
    MskClusterOpenMonitoringPrometheus,
    MskClusterOpenMonitoringPrometheusJmxExporter,
    MskClusterOpenMonitoringPrometheusNodeExporter,
)
from cdktf_cdktf_provider_aws.msk_configuration import MskConfiguration
from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from constructs import Construct

from infra.aws.log_group import log_group
from infra.components.kafka.access import KafkaArns
from infra.components.kafka.configuration import configuration_name, server_properties
from infra.sizes import KafkaSettings

_VOLUME_SIZE = "broker_node_group_info[0].storage_info[0].ebs_storage_info[0].volume_size"


class Kafka(Construct):
    """The MSK cluster, its configuration and its log group."""

    def __init__(  # noqa: PLR0913 -- each a property of the cluster
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        settings: KafkaSettings,
        subnet_ids: Sequence[str],
        security_group: SecurityGroup,
        key_arn: str,
        log_key_arn: str,
        prevent_destroy: bool,
    ) -> None:
        """Declare the cluster.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Name of the cluster, and the start of its other names.
            settings: Version, sizes and retention of logs.
            subnet_ids: Private subnets, one for each zone.
            security_group: Security group of the brokers.
            key_arn: KMS key of the volumes.
            log_key_arn: KMS key of the brokers' logs.
            prevent_destroy: Whether Terraform refuses to destroy the cluster and its records.
        """
        super().__init__(scope, name)
        logs = log_group(
            self, "logs", name=f"/hifi/{prefix}/kafka", key_arn=log_key_arn, days=settings.log_days
        )
        configuration = self._configuration(prefix, settings.version)
        self._cluster = MskCluster(
            self,
            "cluster",
            cluster_name=prefix,
            kafka_version=settings.version,
            number_of_broker_nodes=settings.brokers,
            broker_node_group_info=_brokers(settings, subnet_ids, security_group),
            configuration_info=MskClusterConfigurationInfo(
                arn=configuration.arn, revision=configuration.latest_revision
            ),
            client_authentication=_iam_only(),
            encryption_info=_encryption(key_arn),
            # The level that has the metric of under-replicated partitions.
            enhanced_monitoring="PER_BROKER",
            open_monitoring=_open_monitoring(),
            logging_info=_logging(logs.name),
            lifecycle=TerraformResourceLifecycle(
                # Storage autoscaling sets the size, and MSK cannot shrink a volume.
                ignore_changes=[_VOLUME_SIZE],
                prevent_destroy=prevent_destroy or None,
            ),
        )
        self.arns = KafkaArns(
            cluster=self._cluster.arn,
            topics=self._arns_of("topic"),
            groups=self._arns_of("group"),
            transactional_ids=self._arns_of("transactional-id"),
        )

    def _arns_of(self, kind: str) -> str:
        """Start of the ARNs of a kind: the cluster's own ARN with another kind in place of `cluster`."""
        base = Fn.replace(self._cluster.arn, ":cluster/", f":{kind}/")
        # A Terraform local: the quotation marks of the expression itself would break a policy's JSON.
        return str(TerraformLocal(self, kind, base).as_string)

    def _configuration(self, prefix: str, version: str) -> MskConfiguration:
        return MskConfiguration(
            self,
            "configuration",
            name=configuration_name(prefix, version),
            kafka_versions=[version],
            server_properties=server_properties(),
            lifecycle=TerraformResourceLifecycle(create_before_destroy=True),
        )


def _brokers(
    settings: KafkaSettings, subnet_ids: Sequence[str], security_group: SecurityGroup
) -> MskClusterBrokerNodeGroupInfo:
    volume = MskClusterBrokerNodeGroupInfoStorageInfoEbsStorageInfo(volume_size=settings.volume_gib)
    return MskClusterBrokerNodeGroupInfo(
        instance_type=settings.instance_type,
        client_subnets=list(subnet_ids),
        security_groups=[security_group.id],
        storage_info=MskClusterBrokerNodeGroupInfoStorageInfo(ebs_storage_info=volume),
    )


def _iam_only() -> MskClusterClientAuthentication:
    sasl = MskClusterClientAuthenticationSasl(iam=True, scram=False)
    return MskClusterClientAuthentication(sasl=sasl, unauthenticated=False)


def _encryption(key_arn: str) -> MskClusterEncryptionInfo:
    return MskClusterEncryptionInfo(
        encryption_at_rest_kms_key_arn=key_arn,
        encryption_in_transit=MskClusterEncryptionInfoEncryptionInTransit(
            client_broker="TLS", in_cluster=True
        ),
    )


def _open_monitoring() -> MskClusterOpenMonitoring:
    return MskClusterOpenMonitoring(
        prometheus=MskClusterOpenMonitoringPrometheus(
            jmx_exporter=MskClusterOpenMonitoringPrometheusJmxExporter(enabled_in_broker=True),
            node_exporter=MskClusterOpenMonitoringPrometheusNodeExporter(enabled_in_broker=True),
        )
    )


def _logging(group: str) -> MskClusterLoggingInfo:
    return MskClusterLoggingInfo(
        broker_logs=MskClusterLoggingInfoBrokerLogs(
            cloudwatch_logs=MskClusterLoggingInfoBrokerLogsCloudwatchLogs(enabled=True, log_group=group)
        )
    )
