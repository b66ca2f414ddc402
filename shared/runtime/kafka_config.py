"""Client settings for a side's brokers, derived from `HIFI_BOOTSTRAP`."""

import re
from functools import partial
from typing import Any, Final

from shared.contracts.bootstrap import IAM

_HOST_OF_MSK: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:\d+")

_SPARK_IAM: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AWS_MSK_IAM",
    "kafka.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "kafka.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}


def client_config(bootstrap: str) -> dict[str, Any]:
    """librdkafka settings that every client starts from.

    Raises:
        ValueError: if the addresses begin with iam:// and are not hosts of MSK.
    """
    if not bootstrap.startswith(IAM):
        return {"bootstrap.servers": bootstrap}
    addresses = bootstrap.removeprefix(IAM)
    return {
        "bootstrap.servers": addresses,
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": partial(_token, region_of(addresses)),
    }


def spark_options(bootstrap: str) -> dict[str, str]:
    """Options of Spark's Kafka source and sink; for IAM the connector needs `aws-msk-iam-auth`."""
    if not bootstrap.startswith(IAM):
        return {"kafka.bootstrap.servers": bootstrap}
    return {"kafka.bootstrap.servers": bootstrap.removeprefix(IAM)} | _SPARK_IAM


def region_of(addresses: str) -> str:
    """The AWS region in MSK's host names.

    Raises:
        ValueError: if no host is one of MSK.
    """
    found = _HOST_OF_MSK.search(addresses)
    if found is None:
        raise ValueError(
            f"HIFI_BOOTSTRAP: {addresses} has no MSK host, such as "
            "b-1.name.id.c2.kafka.eu-west-1.amazonaws.com:9098; without IAM, leave out iam://"
        )
    return found[1]


def _token(region: str, _: str) -> tuple[str, float]:
    """A signed IAM token for librdkafka, and its expiry in seconds since 1970."""
    # Only in a cloud: the import takes a third of a second.
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415

    token, ends_ms = MSKAuthTokenProvider.generate_auth_token(region)
    return token, ends_ms / 1000
