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
class TableSchema:
    """Content and keys of a table; both keys are strings."""

    content: str
    partition_key: str
    sort_key: str
    expires: str | None = None
    """Attribute with the time when an item may be deleted, epoch seconds; None: items are kept."""


SCHEMAS = (
    # Documents of customers with every version; also write keys, tokens, members, the audit log, rollouts,
    # releases, registers of activities and leases. shared.contracts.document_items lists all items.
    TableSchema(content="documents", partition_key="tenant", sort_key="document"),
    # State of observe: minutes, days, alarms. Its store module defines the items.
    *(
        TableSchema(content=f"meter-{side}", partition_key="pk", sort_key="sk", expires="expires")
        for side in Side
    ),
)


class DynamodbTables(Construct):
    """The tables: billed per request, restorable to any second of the last 35 days."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, key_arn: str) -> None:
        """Declare the tables.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            key_arn: KMS key of the data.
        """
        super().__init__(scope, name)
        for schema in SCHEMAS:
            DynamodbTable(
                self,
                schema.content,
                name=environment.names.table(schema.content),
                billing_mode="PAY_PER_REQUEST",
                hash_key=schema.partition_key,
                range_key=schema.sort_key,
                attribute=[
                    DynamodbTableAttribute(name=key, type="S")
                    for key in (schema.partition_key, schema.sort_key)
                ],
                point_in_time_recovery=DynamodbTablePointInTimeRecovery(enabled=True),
                ttl=DynamodbTableTtl(attribute_name=schema.expires, enabled=True) if schema.expires else None,
                server_side_encryption=DynamodbTableServerSideEncryption(enabled=True, kms_key_arn=key_arn),
                deletion_protection_enabled=environment.protected,
            )
