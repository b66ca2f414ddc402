"""Weighted DNS records that divide the traffic between the sides, and the health checks of the sides."""

from cdktf_cdktf_provider_aws.cloudwatch_metric_alarm import CloudwatchMetricAlarm
from cdktf_cdktf_provider_aws.data_aws_lb import DataAwsLb
from cdktf_cdktf_provider_aws.data_aws_lb_target_group import DataAwsLbTargetGroup
from cdktf_cdktf_provider_aws.data_aws_route53_zone import DataAwsRoute53Zone
from cdktf_cdktf_provider_aws.route53_health_check import Route53HealthCheck
from cdktf_cdktf_provider_aws.route53_record import (
    Route53Record,
    Route53RecordAlias,
    Route53RecordWeightedRoutingPolicy,
)
from constructs import Construct

from infra.config import Environment, TwinSettings, Weights
from infra.naming import Side

_PERIOD_S = 60
_PERIODS = 2


class WeightedRecords(Construct):
    """One record for each side, all under the host name that customers post events to."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, weights: Weights) -> None:
        """Declare the records.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            weights: Weight of each side.
        """
        super().__init__(scope, name)
        self._environment = environment
        zone = DataAwsRoute53Zone(self, "zone", name=environment.domain)
        for side in Side:
            self._record(environment.twin(side), str(zone.zone_id), weights.of(side))

    def _record(self, twin: TwinSettings, zone_id: str, weight: int) -> None:
        balancer = DataAwsLb(self, f"{twin.side}-balancer", name=twin.names.load_balancer)
        check = self._health_check(twin, balancer)
        Route53Record(
            self,
            f"{twin.side}-record",
            zone_id=zone_id,
            name=self._environment.events_host,
            type="A",
            set_identifier=twin.side.value,
            weighted_routing_policy=Route53RecordWeightedRoutingPolicy(weight=weight),
            health_check_id=check.id,
            alias=Route53RecordAlias(
                name=balancer.dns_name, zone_id=balancer.zone_id, evaluate_target_health=True
            ),
        )

    def _health_check(self, twin: TwinSettings, balancer: DataAwsLb) -> Route53HealthCheck:
        # An alarm, since Route 53 probes from the internet and cannot reach an internal load balancer.
        alarm = self._alarm(twin, balancer)
        return Route53HealthCheck(
            self,
            f"{twin.side}-health",
            type="CLOUDWATCH_METRIC",
            cloudwatch_alarm_name=alarm.alarm_name,
            cloudwatch_alarm_region=self._environment.region,
            # A missing metric does not mean that the side is down.
            insufficient_data_health_status="LastKnownStatus",
            tags={"Name": twin.names.load_balancer},
        )

    def _alarm(self, twin: TwinSettings, balancer: DataAwsLb) -> CloudwatchMetricAlarm:
        group = DataAwsLbTargetGroup(self, f"{twin.side}-targets", name=twin.names.load_balancer)
        return CloudwatchMetricAlarm(
            self,
            f"{twin.side}-alarm",
            alarm_name=f"{twin.names.load_balancer}-has-no-healthy-target",
            alarm_description="No zone of the side has a collect that answers; Route 53 sends it no traffic",
            namespace="AWS/NetworkELB",
            metric_name="HealthyHostCount",
            dimensions={"LoadBalancer": balancer.arn_suffix, "TargetGroup": group.arn_suffix},
            statistic="Maximum",
            comparison_operator="LessThanThreshold",
            threshold=1,
            period=_PERIOD_S,
            evaluation_periods=_PERIODS,
            treat_missing_data="missing",
        )
