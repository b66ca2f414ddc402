"""Client settings for a side's brokers, derived from `HIFI_BOOTSTRAP`."""

import re
from functools import partial
from typing import Any, Final

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.bootstrap import IAM

_HOST_OF_MSK: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:\d+")

_OAUTH: Final = "org.apache.kafka.common.security.oauthbearer"
_MSK: Final = "software.amazon.msk.auth.iam"
_SPARK_IAM: Final = {
    "kafka.security.protocol": "SASL_SSL",
    # As the other clients: MSK's own mechanism AWS_MSK_IAM is one that no other broker can check.
    "kafka.sasl.mechanism": "OAUTHBEARER",
    "kafka.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
    "kafka.sasl.login.callback.handler.class": f"{_MSK}.IAMOAuthBearerLoginCallbackHandler",
}

_RACK: Final = "HIFI_CLIENT_RACK"
# An executor resolves it in its own environment: it may be in another zone than the driver.
_SPARK_RACK: Final = {
    "kafka.client.rack": f"${{env:{_RACK}}}",
    "kafka.config.providers": "env",
    "kafka.config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "kafka.config.providers.env.param.allowlist.pattern": _RACK,
}


class Placement(BaseSettings):
    """Where this process runs; also in Spark's workers, which have no other settings."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    client_rack: str = Field(
        default="",
        description="Id of the availability zone, such as euw1-az1: consumers read from the replica there. "
        "Without it they read from each partition's leader.",
    )


def client_config(bootstrap: str) -> dict[str, Any]:
    """librdkafka settings that every client starts from.

    Raises:
        ValueError: if the addresses begin with iam:// and are not hosts of MSK.
    """
    rack = Placement().client_rack
    placed = {"client.rack": rack} if rack else {}
    if not bootstrap.startswith(IAM):
        return placed | {"bootstrap.servers": bootstrap}
    addresses = bootstrap.removeprefix(IAM)
    return placed | {
        "bootstrap.servers": addresses,
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": partial(_token, region_of(addresses)),
    }


def spark_source_options(bootstrap: str) -> dict[str, str]:
    """Options of Spark's Kafka source: each executor reads from the replica in its own zone."""
    return spark_options(bootstrap) | (_SPARK_RACK if Placement().client_rack else {})


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
