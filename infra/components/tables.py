"""DynamoDB tables of the management and control planes."""

from dataclasses import dataclass

from cdktf_cdktf_provider_aws.dynamodb_table import (
    DynamodbTable,
    DynamodbTableAttribute,
    DynamodbTablePointInTimeRecovery,
    DynamodbTableServerSideEncryption,
    DynamodbTableTtl,
)
from constructs import Construct

from infra.config import Environment
from infra.naming import Side


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """What a table holds and how an item is found; both keys are strings."""

    content: str
    partition_key: str
    sort_key: str
    expires: str | None = None
    """The attribute that says when an item may go, epoch seconds; none: items stay."""


SHAPES = (
    # The sources, destinations and pipes users state; `document` is kind/name, as on the topic `config`.
    TableShape(content="documents", partition_key="tenant", sort_key="document"),
    # What was deployed to a side and which weights it had, newest last.
    TableShape(content="deployments", partition_key="side", sort_key="at"),
    # What observe knows: minutes, days, alarms. pipelines/control/observe/store.py says what an item is.
    *(
        TableShape(content=f"meter-{side}", partition_key="pk", sort_key="sk", expires="expires")
        for side in Side
    ),
)


class Tables(Construct):
    """The tables: paid per request, restorable to any second of 35 days."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, key_arn: str) -> None:
        """Declare the tables.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            environment: Settings of the environment.
            key_arn: KMS key of the data.
        """
        super().__init__(scope, name)
        for shape in SHAPES:
            DynamodbTable(
                self,
                shape.content,
                name=environment.names.table(shape.content),
                billing_mode="PAY_PER_REQUEST",
                hash_key=shape.partition_key,
                range_key=shape.sort_key,
                attribute=[
                    DynamodbTableAttribute(name=key, type="S")
                    for key in (shape.partition_key, shape.sort_key)
                ],
                point_in_time_recovery=DynamodbTablePointInTimeRecovery(enabled=True),
                ttl=DynamodbTableTtl(attribute_name=shape.expires, enabled=True) if shape.expires else None,
                server_side_encryption=DynamodbTableServerSideEncryption(enabled=True, kms_key_arn=key_arn),
                deletion_protection_enabled=environment.protected,
            )
