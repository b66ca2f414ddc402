"""Flow logs of a side's VPC: which address connected to which."""

from cdktf_cdktf_provider_aws.flow_log import FlowLog
from constructs import Construct

from infra.aws.log_group import log_group
from infra.aws.policy import Statement
from infra.components.identity.role import Role, Trust


class FlowLogs(Construct):
    """All connections of a VPC, accepted and rejected, in a log group."""

    def __init__(  # noqa: PLR0913 -- each a property of the logs
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
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            account: AWS account of the VPC.
            boundary_arn: Permissions boundary of the role that writes the logs.
            vpc_id: VPC to log the traffic of.
            key_arn: KMS key of the log group.
            days: Retention, days.
        """
        super().__init__(scope, name)
        group = log_group(self, "group", name=f"/hifi/{prefix}/flow", key_arn=key_arn, days=days)
        role = Role(
            self,
            "role",
            role_name=f"{prefix}-flow-logs",
            boundary_arn=boundary_arn,
            trust=_trust(account),
            statements=[_write_to(group.arn)],
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


def _trust(account: str) -> Trust:
    return Trust(
        service="vpc-flow-logs.amazonaws.com",
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )


def _write_to(group_arn: str) -> Statement:
    return Statement(
        sid="WriteFlows",
        actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
        resources=[f"{group_arn}:*"],  # the streams of this one group
    )
