from datetime import timedelta

import pytest
from pydantic import ValidationError

from infra.components.kafka.configuration import configuration_name
from infra.sizes import NetworkSettings
from shared.contracts.topics import COMMITS_KEPT, MIN_IN_SYNC_REPLICAS, REPLICAS, TALLIED, topic_specs

from ..conftest import Synthesised
from .references import Resource, Stack, follow, key_alias, one, resources


def _properties(stack: Stack) -> dict[str, str]:
    lines = one(stack, "aws_msk_configuration")["server_properties"].splitlines()
    return dict(line.split("=", 1) for line in lines)


def _alarms(stack: Stack, metric: str) -> list[Resource]:
    return [
        each
        for each in resources(stack, "aws_cloudwatch_metric_alarm")
        if each["namespace"] == "AWS/Kafka" and each["metric_name"] == metric
    ]


def test_brokers_spread_evenly_over_three_zones(side: Stack) -> None:
    cluster = one(side, "aws_msk_cluster")
    subnets = [follow(side, each) for each in cluster["broker_node_group_info"]["client_subnets"]]
    assert len({each["availability_zone"] for each in subnets}) == 3
    assert cluster["number_of_broker_nodes"] % 3 == 0


def test_brokers_are_not_public(side: Stack) -> None:
    group = one(side, "aws_msk_cluster")["broker_node_group_info"]
    access = group.get("connectivity_info", {}).get("public_access", {}).get("type", "DISABLED")
    assert access == "DISABLED"
    assert all("-private-" in follow(side, each)["tags"]["Name"] for each in group["client_subnets"])


def test_a_record_is_acknowledged_by_two_of_three_replicas(side: Stack) -> None:
    found = _properties(side)
    assert found["default.replication.factor"] == str(REPLICAS) == "3"
    assert found["min.insync.replicas"] == str(MIN_IN_SYNC_REPLICAS) == "2"
    assert found["unclean.leader.election.enable"] == "false"
    assert found["auto.create.topics.enable"] == "false"


def test_kafkas_own_topics_are_as_safe(side: Stack) -> None:
    found = _properties(side)
    assert found["offsets.topic.replication.factor"] == "3"
    assert found["transaction.state.log.replication.factor"] == "3"
    assert found["transaction.state.log.min.isr"] == "2"


def test_brokers_take_and_copy_every_record_a_topic_takes(side: Stack) -> None:
    largest = max(int(spec.config()["max.message.bytes"]) for spec in topic_specs(1))
    found = _properties(side)
    assert int(found["message.max.bytes"]) >= largest
    assert int(found["replica.fetch.max.bytes"]) >= largest


def test_a_topic_nobody_gave_a_retention_can_be_replayed_like_the_others(side: Stack) -> None:
    limited = [spec.retention for spec in topic_specs(1) if spec.name in TALLIED and spec.retention]
    hours = int(_properties(side)["log.retention.hours"])
    assert timedelta(hours=hours) == min(limited)


def test_committed_offsets_outlast_the_records_of_a_parked_side(side: Stack) -> None:
    minutes = int(_properties(side)["offsets.retention.minutes"])
    assert timedelta(minutes=minutes) == COMMITS_KEPT


def test_only_tls_and_iam(side: Stack) -> None:
    cluster = one(side, "aws_msk_cluster")
    in_transit = cluster["encryption_info"]["encryption_in_transit"]
    assert in_transit == {"client_broker": "TLS", "in_cluster": True}
    login = cluster["client_authentication"]
    assert login["sasl"] == {"iam": True, "scram": False}
    assert login["unauthenticated"] is False
    assert "tls" not in login


def test_only_the_nodes_reach_the_brokers_and_only_by_iam(side: Stack) -> None:
    (group,) = one(side, "aws_msk_cluster")["broker_node_group_info"]["security_groups"]
    rules = [
        each
        for each in resources(side, "aws_vpc_security_group_ingress_rule")
        if each["security_group_id"] == group
    ]
    nodes = {
        each
        for template in resources(side, "aws_launch_template")
        for each in template["vpc_security_group_ids"]
    }
    assert {each["referenced_security_group_id"] for each in rules} <= nodes
    kafka_ports = {each["from_port"] for each in rules} - {11001, 11002}  # metrics
    assert kafka_ports == {9098}


def test_volumes_are_encrypted_with_the_key_of_kafka(side: Stack, environment: str) -> None:
    key = one(side, "aws_msk_cluster")["encryption_info"]["encryption_at_rest_kms_key_arn"]
    assert key_alias(side, key) == f"alias/hifi-{environment}-kafka"


def test_storage_grows_by_itself_and_terraform_leaves_it(side: Stack) -> None:
    cluster = one(side, "aws_msk_cluster")
    path = "broker_node_group_info[0].storage_info[0].ebs_storage_info[0].volume_size"
    assert path in cluster["lifecycle"]["ignore_changes"]
    target = one(side, "aws_appautoscaling_target")
    assert follow(side, target["resource_id"]) is cluster
    assert target["scalable_dimension"] == "kafka:broker-storage:VolumeSize"
    first = cluster["broker_node_group_info"]["storage_info"]["ebs_storage_info"]["volume_size"]
    assert target["max_capacity"] > first
    policy = one(side, "aws_appautoscaling_policy")["target_tracking_scaling_policy_configuration"]
    assert (
        policy["predefined_metric_specification"]["predefined_metric_type"] == "KafkaBrokerStorageUtilization"
    )
    assert policy["disable_scale_in"] is True


def test_storage_grows_before_the_alarm(side: Stack) -> None:
    policy = one(side, "aws_appautoscaling_policy")["target_tracking_scaling_policy_configuration"]
    assert policy["target_value"] < min(each["threshold"] for each in _alarms(side, "KafkaDataLogsDiskUsed"))


def test_brokers_are_observed(side: Stack) -> None:
    cluster = one(side, "aws_msk_cluster")
    prometheus = cluster["open_monitoring"]["prometheus"]
    assert prometheus["jmx_exporter"]["enabled_in_broker"]
    assert prometheus["node_exporter"]["enabled_in_broker"]
    logs = cluster["logging_info"]["broker_logs"]["cloudwatch_logs"]
    assert logs["enabled"]
    assert follow(side, logs["log_group"])["retention_in_days"] > 0
    # The default level lacks the metrics of the replication alarms.
    assert cluster["enhanced_monitoring"] != "DEFAULT"


@pytest.mark.parametrize(
    "metric", ["KafkaDataLogsDiskUsed", "UnderReplicatedPartitions", "UnderMinIsrPartitionCount"]
)
def test_every_broker_has_its_alarm(side: Stack, metric: str) -> None:
    cluster = one(side, "aws_msk_cluster")
    ids = {str(each) for each in range(1, cluster["number_of_broker_nodes"] + 1)}
    alarms = _alarms(side, metric)
    assert {each["dimensions"]["Broker ID"] for each in alarms} == ids
    assert {each["dimensions"]["Cluster Name"] for each in alarms} == {cluster["cluster_name"]}
    assert all(each["comparison_operator"] == "GreaterThanThreshold" for each in alarms)


def test_offline_partitions_and_a_missing_controller_raise_an_alarm(side: Stack) -> None:
    (offline,) = _alarms(side, "OfflinePartitionsCount")
    assert (offline["comparison_operator"], offline["threshold"]) == ("GreaterThanThreshold", 0)
    (controller,) = _alarms(side, "ActiveControllerCount")
    assert (controller["comparison_operator"], controller["threshold"]) == ("LessThanThreshold", 1)
    assert controller["treat_missing_data"] == "breaching"


def test_alarms_are_sent_somewhere_encrypted(side: Stack) -> None:
    for alarm in resources(side, "aws_cloudwatch_metric_alarm"):
        assert alarm["alarm_actions"]
        for action in alarm["alarm_actions"]:
            assert key_alias(side, follow(side, action)["kms_master_key_id"])


def test_someone_hears_the_alarms_of_production(production: Stack) -> None:
    assert resources(production, "aws_sns_topic_subscription")


def test_a_configuration_can_be_replaced_while_the_old_one_is_in_use(side: Stack) -> None:
    configuration = one(side, "aws_msk_configuration")
    assert configuration["lifecycle"]["create_before_destroy"] is True
    assert configuration["kafka_versions"] == [one(side, "aws_msk_cluster")["kafka_version"]]
    # MSK allows letters, digits and hyphens.
    assert configuration["name"].replace("-", "").isalnum()


def test_another_kafka_version_gives_another_configuration_name() -> None:
    versions = ["3.9.x", "3.9.x.kraft", "4.1.x.kraft"]
    assert len({configuration_name("hifi-production-blue", each) for each in versions}) == 3


def test_the_cluster_takes_the_newest_revision(side: Stack) -> None:
    info = one(side, "aws_msk_cluster")["configuration_info"]
    assert follow(side, info["arn"]) is one(side, "aws_msk_configuration")
    assert info["revision"].endswith(".latest_revision}")


def test_terraform_does_not_destroy_the_records_of_production(production: Stack) -> None:
    assert one(production, "aws_msk_cluster")["lifecycle"]["prevent_destroy"] is True


def test_local_can_be_destroyed(synthesised: Synthesised) -> None:
    assert "prevent_destroy" not in one(synthesised("local")["blue"], "aws_msk_cluster")["lifecycle"]


def test_logs_are_kept_for_a_number_of_days_that_cloudwatch_takes() -> None:
    facts = {"nat_gateways": 1, "interface_endpoints": [], "flow_log_days": 31}
    with pytest.raises(ValidationError, match=r"flow_log_days(.|\n)*31 days; use 30"):
        NetworkSettings.model_validate(facts)
