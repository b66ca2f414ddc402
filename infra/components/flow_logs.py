"""Who talked to whom: the VPC's flow logs."""

from cdktf_cdktf_provider_aws.flow_log import FlowLog
from constructs import Construct

from infra.aws.policy import Statement
from infra.components.log_group import log_group
from infra.components.role import Role, Trust


class FlowLogs(Construct):
    """All traffic of a VPC, accepted and refused, in a log group."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the logs
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        account: str,
        boundary_arn: str,
        vpc_id: str,
        key_arn: str,
        days: int,
    ) -> None:
        """Declare the logs.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            prefix: What names in AWS start with.
            account: The AWS account they are of.
            boundary_arn: Permissions boundary of the role that writes them.
            vpc_id: Whose traffic.
            key_arn: KMS key of the log group.
            days: How long they are kept.
        """
        super().__init__(scope, name)
        group = log_group(self, "group", name=f"/hifi/{prefix}/flow", key_arn=key_arn, days=days)
        role = Role(
            self,
            "role",
            role_name=f"{prefix}-flow-logs",
            boundary_arn=boundary_arn,
            trust=Trust(
                service="vpc-flow-logs.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": account}},
            ),
            statements=[
                Statement(
                    sid="WriteFlows",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                    resources=[f"{group.arn}:*"],  # the streams of this one group
                )
            ],
        )
        FlowLog(
            self,
            "log",
            vpc_id=vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            max_aggregation_interval=60,
            tags={"Name": prefix},
        )
