"""Automatic growth of the brokers' volumes."""

from cdktf_cdktf_provider_aws.appautoscaling_policy import (
    AppautoscalingPolicy,
    AppautoscalingPolicyTargetTrackingScalingPolicyConfiguration,
    AppautoscalingPolicyTargetTrackingScalingPolicyConfigurationPredefinedMetricSpecification,
)
from cdktf_cdktf_provider_aws.appautoscaling_target import AppautoscalingTarget
from constructs import Construct

_FULL_PERCENT = 60
"""Far below the alarm on disk use, since MSK grows a volume at most once in six hours."""


class KafkaStorage(Construct):
    """Application Auto Scaling of an MSK cluster's volumes."""

    def __init__(self, scope: Construct, name: str, *, prefix: str, cluster_arn: str, limit_gib: int) -> None:
        """Declare target and policy.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            cluster_arn: The MSK cluster.
            limit_gib: Largest size of a broker's volume, GiB.
        """
        super().__init__(scope, name)
        target = AppautoscalingTarget(
            self,
            "target",
            service_namespace="kafka",
            scalable_dimension="kafka:broker-storage:VolumeSize",
            resource_id=cluster_arn,
            min_capacity=1,  # the only minimum that MSK accepts: volumes never shrink
            max_capacity=limit_gib,
        )
        AppautoscalingPolicy(
            self,
            "policy",
            name=f"{prefix}-storage",
            policy_type="TargetTrackingScaling",
            service_namespace=target.service_namespace,
            scalable_dimension=target.scalable_dimension,
            resource_id=target.resource_id,
            target_tracking_scaling_policy_configuration=_grow(),
        )


def _grow() -> AppautoscalingPolicyTargetTrackingScalingPolicyConfiguration:
    metric = AppautoscalingPolicyTargetTrackingScalingPolicyConfigurationPredefinedMetricSpecification(
        predefined_metric_type="KafkaBrokerStorageUtilization"
    )
    return AppautoscalingPolicyTargetTrackingScalingPolicyConfiguration(
        target_value=_FULL_PERCENT,
        disable_scale_in=True,
        predefined_metric_specification=metric,
    )
