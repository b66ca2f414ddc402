"""Clients of DynamoDB, on AWS and on a local side."""

from functools import cache
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

_LOCAL_REGION: Final = "us-east-1"
_CREATED_SECONDS: Final = 30

CONDITION_FAILED: Final = "ConditionalCheckFailed"
"""Reason of a transaction's item: its condition does not hold."""

CONFLICT: Final = "TransactionConflict"
"""Reason of a transaction's item: another transaction is writing it."""


_THROTTLED: Final = frozenset(
    (
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
    )
)
"""Codes of requests, and of items of a transaction."""


class StoreError(Exception):
    """The table cannot be used just now; the text says why."""


def dynamodb_client(endpoint: str | None) -> Any:
    """A client that answers or fails within about ten seconds.

    Args:
        endpoint: the URL of DynamoDB Local, which takes any credentials; None is AWS, with region
            and credentials from the environment.
    """
    config = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    local = {} if endpoint is None else {"endpoint_url": endpoint, **_local_identity()}
    return _session().create_client("dynamodb", config=config, **local)


@cache
def _session() -> Session:
    """One for all clients: it reads the description of the service once.

    It is botocore's: boto3 would add the managers of S3's transfers, and their imports to every process.
    """
    return Session()


def create_table(client: Any, table: str, partition_key: str, sort_key: str) -> None:
    """Make a table of two text keys, and wait until it is there; nothing if it is there already.

    Raises:
        ClientError: if it cannot be made.
    """
    try:
        client.create_table(
            TableName=table,
            KeySchema=[
                {"AttributeName": partition_key, "KeyType": "HASH"},
                {"AttributeName": sort_key, "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in (partition_key, sort_key)
            ],
            BillingMode="PAY_PER_REQUEST",
        )
    except ClientError as error:
        if error_code(error) != "ResourceInUseException":
            raise
    waiter = client.get_waiter("table_exists")
    waiter.wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": _CREATED_SECONDS})


def error_code(error: Exception) -> str:
    """AWS's code of a refusal; empty for other errors."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def cancellations(error: Exception) -> list[str]:
    """Why each item of a transaction failed, in their order; empty for other errors."""
    if error_code(error) != "TransactionCanceledException" or not isinstance(error, ClientError):
        return []
    return [str(reason.get("Code")) for reason in error.response.get("CancellationReasons", [])]


def conflicts(error: Exception) -> bool:
    """Whether a transaction failed because of another one at that moment: it is worth another try."""
    return error_code(error) == "TransactionInProgressException" or CONFLICT in cancellations(error)


def throttled(error: Exception) -> bool:
    """Whether a transaction failed because of too many requests: it is worth another try, later."""
    codes = {error_code(error), *cancellations(error)}
    return not codes.isdisjoint(_THROTTLED)


def _local_identity() -> dict[str, str]:
    """A region and credentials: DynamoDB Local asks for them, without a check, and keeps a table for each."""
    return {"region_name": _LOCAL_REGION, "aws_access_key_id": "local", "aws_secret_access_key": "local"}
