"""Writes the values of an overlay, `side.env` and `release.env`, for one environment and side.

`python -m infra.workloads.values blue --bootstrap ... --service-image ... --spark-image ...` writes them for
the environment in HIFI_ENVIRONMENT. The committed files are those of `local`.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.config import Environment, InvalidSettingsError, load_environment, load_run
from infra.management import SignIn
from infra.naming import Side
from shared.contracts.bootstrap import IAM

OVERLAYS: Final = Path(__file__).with_name("overlays")
SETTINGS: Final = Path(__file__).parents[1] / "environments"
"""Where ENVIRONMENT.env holds settings of the processes that a person made; it need not be there."""

CANARY_ADDRESS: Final = "172.20.0.100"
"""Cluster IP of the canary's Service, in the lower band of the range: Kubernetes assigns it only on request
(https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/)."""

_SETTING: Final = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_ZONES: Final = re.compile(r"([a-z0-9-]+=[a-z0-9]+-az\d+)(,[a-z0-9-]+=[a-z0-9]+-az\d+)*")
_BROKER: Final = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}")
_IMAGE: Final = re.compile(r"\S+/\S+(@sha256:[0-9a-f]{64}|:[\w][\w.-]{0,127})")


def side_values(
    environment: Environment,
    side: Side,
    *,
    bootstrap: str,
    zone_ids: str,
    settings: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment variables of every process of a side.

    Args:
        environment: Where the side is.
        side: Which of the two.
        bootstrap: The side's brokers, host:port separated by commas.
        zone_ids: Ids of the account's availability zones, such as `eu-west-1a=euw1-az3,eu-west-1b=euw1-az1`.
        settings: What a person set for the environment's processes.

    Raises:
        InvalidSettingsError: `bootstrap` is not a list of host:port, `zone_ids` not one of name=id; a setting
            is one that stacks decide.
    """
    return with_persons(environment, _stack_values(environment, side, bootstrap, zone_ids), settings or {})


def with_persons(
    environment: Environment, decided: dict[str, str], settings: Mapping[str, str]
) -> dict[str, str]:
    """The values that stacks decide, and those that a person set.

    Raises:
        InvalidSettingsError: a person set what stacks decide.
    """
    for name in settings:
        if name in decided:
            raise InvalidSettingsError(f"{name}: the stacks decide it; remove it from {environment.name}.env")
    return decided | dict(settings)


def brokers(bootstrap: str) -> str:
    """The brokers as they are given.

    Raises:
        InvalidSettingsError: it is not a list of host:port.
    """
    if not all(_BROKER.fullmatch(broker) for broker in bootstrap.split(",")):
        raise InvalidSettingsError(f"bootstrap: {bootstrap!r}; give host:port, separated by commas")
    return bootstrap


def image(field: str, found: str) -> str:
    """An image as it is given.

    Raises:
        InvalidSettingsError: it has neither tag nor digest; the message names the field.
    """
    if not _IMAGE.fullmatch(found):
        raise InvalidSettingsError(f"{field}: {found!r}; give repository@sha256:digest or repository:tag")
    return found


def _stack_values(environment: Environment, side: Side, bootstrap: str, zone_ids: str) -> dict[str, str]:
    if not _ZONES.fullmatch(zone_ids):
        raise InvalidSettingsError(
            f"zone_ids: {zone_ids!r}; give name=id, separated by commas, such as eu-west-1a=euw1-az3"
        )
    return {
        "AWS_REGION": environment.region,
        "HIFI_ALLOW_ADDRESS": CANARY_ADDRESS,
        "HIFI_CANARY_SINKS": f"http://{CANARY_ADDRESS}:8080",
        "HIFI_ALARM_TOPIC": environment.arns.of("sns", environment.twin(side).names.alarm_topic),
        "HIFI_BOOTSTRAP": f"{IAM}{brokers(bootstrap)}",
        "HIFI_CHECKPOINTS": f"s3a://{environment.names.bucket('checkpoints')}/{side}",
        "HIFI_DOCUMENTS_TABLE": environment.names.documents_table,
        "HIFI_SIDE": side.value,
        "HIFI_STORE_TABLE": environment.names.meter_table(side),
        "HIFI_ZONE_IDS": zone_ids,
        "KAFKA_BROKERS": bootstrap,  # the form that KEDA reads
    } | _sign_in_values(environment.management.sign_in)


def _sign_in_values(sign_in: SignIn | None) -> dict[str, str]:
    """Settings of the API and of the console; other processes read none of them."""
    if sign_in is None:
        return {}
    claims = {"HIFI_OIDC_TENANT_CLAIM": sign_in.tenant_claim, "HIFI_OIDC_ROLE_CLAIM": sign_in.role_claim}
    return {
        "HIFI_OIDC_ISSUER": sign_in.issuer,
        "HIFI_OIDC_AUDIENCE": ",".join([sign_in.console_client, *sign_in.other_clients]),
        "HIFI_OIDC_CLIENT_ID": sign_in.console_client,
        "HIFI_OIDC_LABEL_CLAIM": sign_in.label_claim,
        "HIFI_OIDC_SCOPES": " ".join(sign_in.scopes),
    } | {name: claim for name, claim in claims.items() if claim is not None}


def release_values(
    environment: Environment, side: Side, *, service_image: str, spark_image: str
) -> dict[str, str]:
    """The values that a release puts into the manifests.

    Raises:
        InvalidSettingsError: An image has neither tag nor digest.
    """
    twin = environment.twin(side)
    return {
        "NETWORK": str(twin.cidr),
        "SERVICE_IMAGE": image("service_image", service_image),
        "SPARK_IMAGE": image("spark_image", spark_image),
        "TARGET_GROUP": twin.names.load_balancer,
        "API_TARGET_GROUP": twin.names.api_targets,
        "API_URL": f"https://{environment.api_host}",
        "CONSOLE_TARGET_GROUP": twin.names.console_targets,
        "CONSOLE_URL": f"https://{environment.console_host}",
    }


def person_settings(environment: str) -> dict[str, str]:
    """The settings in an environment's file, `NAME=value` lines; comments and empty lines are left out.

    Raises:
        InvalidSettingsError: A line is neither.
    """
    file = SETTINGS / f"{environment}.env"
    if not file.exists():
        return {}
    settings = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _SETTING.fullmatch(line)
        if found is None:
            raise InvalidSettingsError(
                f"{file.name}:{number}: {line!r}; write NAME=value, the name in capitals"
            )
        settings[found[1]] = found[2]
    return settings


def env_file(values: Mapping[str, str]) -> str:
    """Text of an env file for kustomize."""
    return "".join(f"{key}={value}\n" for key, value in sorted(values.items()))


def main(arguments: Sequence[str]) -> int:
    """Write both files of a side's overlay.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="infra.workloads.values", description=__doc__)
    parser.add_argument("side", type=Side, choices=list(Side))
    parser.add_argument(
        "--bootstrap", required=True, help="the side's brokers, host:port separated by commas"
    )
    parser.add_argument("--zone-ids", required=True, help="the account's zones, name=id separated by commas")
    parser.add_argument("--service-image", required=True, help="repository@digest of the services' image")
    parser.add_argument("--spark-image", required=True, help="repository@digest of Spark's image")
    given = parser.parse_args(arguments)
    try:
        environment = load_environment(load_run())
        settings = person_settings(environment.name)
        side = side_values(
            environment, given.side, bootstrap=given.bootstrap, zone_ids=given.zone_ids, settings=settings
        )
        release = release_values(
            environment, given.side, service_image=given.service_image, spark_image=given.spark_image
        )
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    folder = OVERLAYS / given.side
    (folder / "side.env").write_text(env_file(side))
    (folder / "release.env").write_text(env_file(release))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
