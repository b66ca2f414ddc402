"""CloudWatch alarms of a Kubernetes cluster and its nodes. Those of pods are Prometheus' rules."""

from collections.abc import Mapping

from constructs import Construct

from infra.aws.alarm import Rule, alarm

_CLUSTER_RULES = (
    Rule(
        name="pods-without-a-node",
        metric="scheduler_pending_pods_UNSCHEDULABLE",
        # The autoscaler tries spot for three minutes, then a node of the spare group starts.
        minutes=15,
        missing_data="notBreaching",
        description="Pods wait for a node for 15 minutes: a pool is at its maximum, or AWS has no capacity",
    ),
    Rule(
        name="api-errors",
        metric="apiserver_request_total_5XX",
        statistic="Sum",
        threshold=20,
        minutes=5,
        missing_data="notBreaching",
        description="The Kubernetes API fails: nothing is scaled, scheduled or deployed; see AWS Health",
    ),
)
_NODES = Rule(
    name="nodes",
    metric="StatusCheckFailed",
    # EKS replaces a failed node by itself.
    minutes=15,
    missing_data="notBreaching",
    description="A node of this Auto Scaling group fails AWS's checks, and EKS has not replaced it",
)


class ClusterAlarms(Construct):
    """The alarms of an EKS cluster and of the Auto Scaling groups of its nodes."""

    def __init__(
        self, scope: Construct, name: str, *, cluster_name: str, groups: Mapping[str, str], topic_arn: str
    ) -> None:
        """Declare the alarms.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster_name: Name of the EKS cluster.
            groups: Names of the nodes' Auto Scaling groups, by the names of pool and zone.
            topic_arn: SNS topic notified when an alarm is raised and when it ends.
        """
        super().__init__(scope, name)
        for rule in _CLUSTER_RULES:
            alarm(
                self,
                rule,
                prefix=cluster_name,
                namespace="AWS/EKS",
                dimensions={"ClusterName": cluster_name},
                topic_arn=topic_arn,
            )
        nodes = alarm(
            self,
            _NODES,
            prefix=cluster_name,
            namespace="AWS/EC2",
            dimensions={"AutoScalingGroupName": "${each.value}"},
            topic_arn=topic_arn,
        )
        # One resource for all groups: a construct for each would lengthen the synthesis.
        nodes.alarm_name = f"{cluster_name}-{_NODES.name}-${{each.key}}"
        nodes.add_override("for_each", dict(groups))
