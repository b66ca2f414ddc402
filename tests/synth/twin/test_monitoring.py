"""A side's logs, metrics and alarms are kept for a time, and reach a person."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.dashboard.alerts import ALERTS

from ..conftest import ENVIRONMENTS, Synthesised
from .references import Resource, Stack, follow, one, resources

_RUN_BOOK = Path(__file__).parents[3] / "docs" / "infrastructure.md"
_SHIPPER = "aws-for-fluent-bit"
_STACK = "kube-prometheus-stack"
SUBJECT = 100
"""Characters that SNS accepts."""


@pytest.fixture(params=["staging", "production"])
def remote(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    """A side with a Kubernetes API."""
    return synthesised(request.param)["blue"]


def _values(stack: Stack, name: str) -> dict[str, Any]:
    (release,) = [each for each in resources(stack, "helm_release") if each["name"] == name]
    (text,) = release["values"]
    found: dict[str, Any] = json.loads(text)
    return found


def _alarms(stack: Stack) -> list[Resource]:
    return resources(stack, "aws_cloudwatch_metric_alarm")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_alarm_of_any_stack_is_without_an_action_when_it_begins_and_when_it_ends(
    synthesised: Synthesised, name: str
) -> None:
    stacks = synthesised(name)
    topics = {each["name"] for stack in stacks.values() for each in resources(stack, "aws_sns_topic")}
    seen = 0
    for stack in stacks.values():
        for alarm in _alarms(stack):
            seen += 1
            assert alarm["alarm_actions"] == alarm["ok_actions"] != [], alarm["alarm_name"]
            for action in alarm["alarm_actions"]:
                if action.startswith("${"):
                    assert follow(stack, action)["name"] in topics
                else:
                    assert action.rpartition(":")[2] in topics
    assert seen > 2 * (2 + 3 * 3)
    for notification in one(stacks["foundation"], "aws_budgets_budget")["notification"]:
        (topic,) = notification["subscriber_sns_topic_arns"]
        assert follow(stacks["foundation"], topic)["kms_master_key_id"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_budgets_may_publish_to_their_topic_and_use_its_key(synthesised: Synthesised, name: str) -> None:
    foundation = synthesised(name)["foundation"]
    (statement,) = json.loads(one(foundation, "aws_sns_topic_policy")["policy"])["Statement"]
    assert statement["Principal"] == {"Service": "budgets.amazonaws.com"}
    assert statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    topic = one(foundation, "aws_sns_topic")
    key = follow(foundation, topic["kms_master_key_id"])
    principals = [each["Principal"].get("Service", []) for each in json.loads(key["policy"])["Statement"]]
    assert any("budgets.amazonaws.com" in each for each in principals)
    assert resources(foundation, "aws_sns_topic_subscription")


@pytest.mark.parametrize("metric", ["UnHealthyHostCount", "PortAllocationErrorCount"])
def test_the_load_balancer_has_its_alarms(side: Stack, metric: str) -> None:
    (alarm,) = [
        each
        for each in _alarms(side)
        if (each["metric_name"], each["namespace"]) == (metric, "AWS/NetworkELB")
    ]
    balancer = one(side, "aws_lb", load_balancer_type="network")
    assert follow(side, alarm["dimensions"]["LoadBalancer"]) is balancer


def test_pods_without_a_node_and_failing_nodes_of_every_group_raise_an_alarm(side: Stack) -> None:
    found = {each["metric_name"]: each for each in _alarms(side)}
    waiting = found["scheduler_pending_pods_UNSCHEDULABLE"]
    assert waiting["dimensions"] == {"ClusterName": one(side, "aws_eks_cluster")["name"]}
    nodes = found["StatusCheckFailed"]
    assert nodes["dimensions"] == {"AutoScalingGroupName": "${each.value}"}
    assert nodes["alarm_name"].endswith("${each.key}"), "alarms of one name would replace each other"
    groups = {follow(side, each)["node_group_name_prefix"] for each in nodes["for_each"].values()}
    assert groups == {each["node_group_name_prefix"] for each in resources(side, "aws_eks_node_group")}
    assert {f"{key}-" for key in nodes["for_each"]} == groups


def test_pods_logs_go_to_a_group_with_key_and_retention(remote: Stack) -> None:
    values = _values(remote, _SHIPPER)["cloudWatchLogs"]
    (group,) = [
        each
        for each in resources(remote, "aws_cloudwatch_log_group")
        if each["name"] == values["logGroupName"]
    ]
    assert group["retention_in_days"] > 0
    assert group["kms_key_id"]
    # A template would lead to other groups, and the role may create none.
    assert values["logGroupTemplate"] == ""
    assert values["autoCreateGroup"] is False
    assert "pod_name" in values["logStreamTemplate"]


def test_the_shipper_runs_on_every_node_also_on_spot_nodes(remote: Stack) -> None:
    values = _values(remote, _SHIPPER)
    assert values["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in values
    assert values["resources"]["limits"]["memory"] == values["resources"]["requests"]["memory"]


@pytest.mark.parametrize(("release", "account"), [(_SHIPPER, "fluent-bit"), (_STACK, "alertmanager")])
def test_what_calls_aws_has_the_service_account_with_the_role(
    remote: Stack, release: str, account: str
) -> None:
    values = _values(remote, release)
    part = values if release == _SHIPPER else values["alertmanager"]
    assert part["serviceAccount"] == {"create": True, "name": account}
    (found,) = [each for each in resources(remote, "helm_release") if each["name"] == release]
    assert (found["namespace"], account) in {
        (each["namespace"], each["service_account"])
        for each in resources(remote, "aws_eks_pod_identity_association")
    }


def test_every_alert_but_the_charts_own_heartbeats_reaches_the_sides_topic(remote: Stack) -> None:
    config = _values(remote, _STACK)["alertmanager"]["config"]
    receivers = {each["name"]: each for each in config["receivers"]}
    (sns,) = receivers[config["route"]["receiver"]]["sns_configs"]
    assert follow(remote, sns["topic_arn"]) is one(remote, "aws_sns_topic")
    assert sns["send_resolved"] is True
    cluster = _values(remote, "cluster-autoscaler")["autoDiscovery"]["clusterName"]
    assert sns["subject"].startswith(f"{cluster} "), "one person gets the mails of all sides"
    assert sns["message"].startswith(f"{cluster}\n")
    subject = sns["subject"].replace("{{ .Status }}", "resolved")
    for alert in ALERTS:
        shown = subject.replace("{{ .CommonLabels.alertname }}", alert.name)
        assert "{" not in shown
        assert len(shown) <= SUBJECT, shown
    (silent,) = config["route"]["routes"]
    assert silent == {"receiver": "null", "matchers": ['alertname=~"Watchdog|InfoInhibitor"']}


def test_prometheus_takes_our_rules_and_monitors_and_ends_before_its_volume_is_full(remote: Stack) -> None:
    spec = _values(remote, _STACK)["prometheus"]["prometheusSpec"]
    assert spec["ruleSelectorNilUsesHelmValues"] is spec["podMonitorSelectorNilUsesHelmValues"] is False
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    kept, volume = (
        int(spec["retentionSize"][:-2]) * 10**9,
        int(claim["resources"]["requests"]["storage"][:-2]),
    )
    assert kept < 0.9 * volume * 2**30
    classes = [each["metadata"]["name"] for each in _values(remote, _STACK)["extraManifests"]]
    assert claim["storageClassName"] in classes


def test_the_way_out_deletes_the_claim_of_prometheus_before_the_side(remote: Stack) -> None:
    (release,) = [each for each in resources(remote, "helm_release") if each["name"] == _STACK]
    spec = _values(remote, _STACK)["prometheus"]["prometheusSpec"]
    assert "persistentVolumeClaimRetentionPolicy" not in spec, (
        "the operator's new StatefulSet would have no data"
    )
    _, _, removal = _RUN_BOOK.read_text().partition("To remove everything")
    before, destroyed, _ = removal.partition("`npx cdktf destroy edge`")
    assert destroyed
    for step in ("delete prometheus --all", "delete pvc --all"):
        assert f" -n {release['namespace']} {step}" in before


def test_grafana_has_no_known_password(remote: Stack) -> None:
    assert _values(remote, _STACK)["grafana"]["adminPassword"] == ""


def test_both_sides_are_watched_alike(synthesised: Synthesised) -> None:
    blue, green = (synthesised("production")[name] for name in ("blue", "green"))
    for name in (_SHIPPER, _STACK):
        texts = [json.dumps(_values(stack, name)) for stack in (blue, green)]
        assert texts[0].replace("blue", "SIDE") == texts[1].replace("green", "SIDE")
