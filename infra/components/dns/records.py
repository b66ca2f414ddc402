"""Weighted DNS records: events are divided between the sides, people go to the leading one."""

from typing import Any

from cdktf import Fn, Op, Token
from cdktf_cdktf_provider_aws.cloudwatch_metric_alarm import CloudwatchMetricAlarm
from cdktf_cdktf_provider_aws.data_aws_lb import DataAwsLb
from cdktf_cdktf_provider_aws.data_aws_lb_target_group import DataAwsLbTargetGroup
from cdktf_cdktf_provider_aws.data_aws_route53_zone import DataAwsRoute53Zone
from cdktf_cdktf_provider_aws.data_aws_ssm_parameter import DataAwsSsmParameter
from cdktf_cdktf_provider_aws.route53_health_check import Route53HealthCheck
from cdktf_cdktf_provider_aws.route53_record import (
    Route53Record,
    Route53RecordAlias,
    Route53RecordWeightedRoutingPolicy,
)
from constructs import Construct

from infra.config import Environment, TwinSettings
from infra.exposure import Exposure
from infra.naming import Side

_NAME_TTL_S = 30
_PERIOD_S = 60
_PERIODS = 2
_COPIED = ("evaluation_periods", "period", "statistic", "threshold", "treat_missing_data")
"""Settings of an alarm that Route 53 copies; it takes new ones only when the health check is updated."""


class WeightedRecords(Construct):
    """For each side one record under the host name of events, of the API and of the console."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare the records, with the weights that hold now.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        self._environment = environment
        self._zone_id = str(DataAwsRoute53Zone(self, "zone", name=environment.domain).zone_id)
        self._weights = self._runtime_state("weights", environment.names.weights_parameter)
        self._closed = self._runtime_state("closed", environment.names.closed_parameter)
        for side in Side:
            self._record(environment.twin(side))

    def _runtime_state(self, part: str, parameter: str) -> Any:
        """The value that the deployer has set; a data source is read at each plan."""
        return Fn.jsondecode(DataAwsSsmParameter(self, part, name=parameter).insecure_value)

    def _record(self, twin: TwinSettings) -> None:
        balancer = DataAwsLb(self, f"{twin.side}-balancer", name=twin.names.load_balancer)
        check = self._health_check(twin, balancer)
        weight = Token.as_number(self._weight(twin.side))
        alias = Route53RecordAlias(
            name=balancer.dns_name, zone_id=balancer.zone_id, evaluate_target_health=True
        )
        by_address = self._environment.exposure is Exposure.INTERNET
        Route53Record(
            self,
            f"{twin.side}-record",
            zone_id=self._zone_id,
            name=self._environment.events_host,
            type="A" if by_address else "CNAME",
            set_identifier=twin.side.value,
            weighted_routing_policy=Route53RecordWeightedRoutingPolicy(weight=weight),
            health_check_id=check.id,
            alias=alias if by_address else None,
            records=None if by_address else [self._name(twin.side, alias)],
            ttl=None if by_address else _NAME_TTL_S,
        )
        self._management_records(twin, check)

    def _management_records(self, twin: TwinSettings, check: Route53HealthCheck) -> None:
        """A sign-in is known to one side's console: so people go to one side, and programs with them."""
        balancer = DataAwsLb(self, f"{twin.side}-management", name=twin.names.management_balancer)
        for host in self._environment.management_hosts:
            Route53Record(
                self,
                f"{twin.side}-{host.partition('.')[0]}",
                zone_id=self._zone_id,
                name=host,
                type="A",
                set_identifier=twin.side.value,
                weighted_routing_policy=Route53RecordWeightedRoutingPolicy(weight=self._leading(twin.side)),
                health_check_id=check.id,
                alias=Route53RecordAlias(
                    name=balancer.dns_name, zone_id=balancer.zone_id, evaluate_target_health=True
                ),
            )

    def _leading(self, side: Side) -> Any:
        """The deployer's rule: 100 for the side with more weight, blue on a tie."""
        blue, green = (self._weight(each) for each in (Side.BLUE, Side.GREEN))
        leads = Op.gte(blue, green) if side is Side.BLUE else Op.gt(green, blue)
        return Token.as_number(Fn.conditional(leads, 100, 0))

    def _weight(self, side: Side) -> Any:
        return Fn.lookup(self._weights, side.value)

    def _name(self, side: Side, alias: Route53RecordAlias) -> str:
        """The side's own name. In a customer's VPC the customer's PrivateLink endpoint answers it."""
        host = self._environment.side_host(side)
        Route53Record(self, f"{side}-host", zone_id=self._zone_id, name=host, type="A", alias=alias)
        return host

    def _health_check(self, twin: TwinSettings, balancer: DataAwsLb) -> Route53HealthCheck:
        # An alarm, since Route 53 probes from the internet and cannot reach an internal load balancer.
        alarm = self._alarm(twin, balancer)
        # A closed side gets no traffic even if no other is healthy. Route 53 takes a disabled check as
        # healthy, and if it is also inverted as unhealthy. The deployer closes a dark side while changing it.
        closed = Fn.contains(self._closed, twin.side.value)
        check = Route53HealthCheck(
            self,
            f"{twin.side}-health",
            type="CLOUDWATCH_METRIC",
            cloudwatch_alarm_name=alarm.alarm_name,
            cloudwatch_alarm_region=self._environment.region,
            # A side that lost all pods of collect has no data: a target group without targets reports none.
            # Without data of either side Route 53 takes both as healthy, and goes by the weights.
            insufficient_data_health_status="Unhealthy",
            triggers={each: f"${{{alarm.fqn}.{each}}}" for each in _COPIED},
            tags={"Name": twin.names.load_balancer},
        )
        for field in ("disabled", "invert_healthcheck"):
            check.add_override(field, closed)  # an expression, which the binding's boolean does not take
        return check

    def _alarm(self, twin: TwinSettings, balancer: DataAwsLb) -> CloudwatchMetricAlarm:
        group = DataAwsLbTargetGroup(self, f"{twin.side}-targets", name=twin.names.load_balancer)
        topic = self._environment.arns.of("sns", twin.names.alarm_topic)
        return CloudwatchMetricAlarm(
            self,
            f"{twin.side}-alarm",
            alarm_name=f"{twin.names.load_balancer}-has-no-healthy-target",
            alarm_description="No zone of the side has a collect that answers, so Route 53 sends it no "
            "traffic; of a side that is parked this is as planned",
            namespace="AWS/NetworkELB",
            metric_name="HealthyHostCount",
            dimensions={"LoadBalancer": balancer.arn_suffix, "TargetGroup": group.arn_suffix},
            statistic="Maximum",
            comparison_operator="LessThanThreshold",
            threshold=1,
            period=_PERIOD_S,
            evaluation_periods=_PERIODS,
            treat_missing_data="breaching",
            # A side that is parked raises it once; it ends when the side has pods again.
            alarm_actions=[topic],
            ok_actions=[topic],
        )
