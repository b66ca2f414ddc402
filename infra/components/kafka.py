"""A side's Kafka: an MSK cluster over three zones, reached by TLS and IAM only."""

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

from infra.components.kafka_access import KafkaArns
from infra.components.kafka_properties import configuration_name, server_properties
from infra.components.log_group import log_group
from infra.sizes import KafkaSettings

_VOLUME_SIZE = "broker_node_group_info[0].storage_info[0].ebs_storage_info[0].volume_size"


class Kafka(Construct):
    """The MSK cluster, its configuration and its log group."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the cluster
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
            name: Name of this part in the stack.
            prefix: Name of the cluster, and what its other names start with.
            settings: Version, size and retention of logs.
            subnet_ids: One private subnet a zone.
            security_group: Who reaches the brokers.
            key_arn: KMS key of the volumes.
            log_key_arn: KMS key of the brokers' logs.
            prevent_destroy: Whether Terraform refuses to destroy the cluster and its records.
        """
        super().__init__(scope, name)
        self._settings = settings
        logs = log_group(
            self, "logs", name=f"/hifi/{prefix}/kafka", key_arn=log_key_arn, days=settings.log_days
        )
        configuration = self._configuration(prefix)
        self._cluster = MskCluster(
            self,
            "cluster",
            cluster_name=prefix,
            kafka_version=settings.version,
            number_of_broker_nodes=settings.brokers,
            broker_node_group_info=self._brokers(subnet_ids, security_group),
            configuration_info=MskClusterConfigurationInfo(
                arn=configuration.arn, revision=configuration.latest_revision
            ),
            client_authentication=MskClusterClientAuthentication(
                sasl=MskClusterClientAuthenticationSasl(iam=True, scram=False), unauthenticated=False
            ),
            encryption_info=MskClusterEncryptionInfo(
                encryption_at_rest_kms_key_arn=key_arn,
                encryption_in_transit=MskClusterEncryptionInfoEncryptionInTransit(
                    client_broker="TLS", in_cluster=True
                ),
            ),
            # Under-replicated partitions are a metric of this level.
            enhanced_monitoring="PER_BROKER",
            open_monitoring=_open_monitoring(),
            logging_info=_logging(logs.name),
            lifecycle=TerraformResourceLifecycle(
                # Storage autoscaling owns it, and MSK never shrinks a volume.
                ignore_changes=[_VOLUME_SIZE],
                prevent_destroy=prevent_destroy or None,
            ),
        )
        self.arns = KafkaArns(
            cluster=self._cluster.arn, topics=self._arns_of("topic"), groups=self._arns_of("group")
        )

    def _arns_of(self, kind: str) -> str:
        """What the ARNs of a kind start with: the cluster's own with another kind in place of `cluster`."""
        base = Fn.replace(self._cluster.arn, ":cluster/", f":{kind}/")
        # A local, since a policy is JSON and the expression's quotation marks would not be.
        return str(TerraformLocal(self, kind, base).as_string)

    def _configuration(self, prefix: str) -> MskConfiguration:
        return MskConfiguration(
            self,
            "configuration",
            name=configuration_name(prefix, self._settings.version),
            kafka_versions=[self._settings.version],
            server_properties=server_properties(),
            lifecycle=TerraformResourceLifecycle(create_before_destroy=True),
        )

    def _brokers(
        self, subnet_ids: Sequence[str], security_group: SecurityGroup
    ) -> MskClusterBrokerNodeGroupInfo:
        volume = MskClusterBrokerNodeGroupInfoStorageInfoEbsStorageInfo(volume_size=self._settings.volume_gib)
        return MskClusterBrokerNodeGroupInfo(
            instance_type=self._settings.instance_type,
            client_subnets=list(subnet_ids),
            security_groups=[security_group.id],
            storage_info=MskClusterBrokerNodeGroupInfoStorageInfo(ebs_storage_info=volume),
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
