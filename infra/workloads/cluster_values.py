"""Writes the values of `infra/workloads/cluster`, `deploy.env` and `release.env`, for one environment.

`python -m infra.workloads.cluster_values --zone ... --service-image ... --blue-bootstrap ...` writes them for
the environment in HIFI_ENVIRONMENT: the deployer's are the same on both sides. The committed files are those
of `local`.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.config import Environment, InvalidSettingsError, load_environment, load_run
from infra.naming import Side
from infra.workloads.values import brokers, env_file, image, person_settings, with_persons
from shared.contracts.bootstrap import IAM

CLUSTER: Final = Path(__file__).with_name("cluster")
_BACKEND: Final = "pipelines.control.backends.aws.backend:aws_backend"


@dataclass(frozen=True, kw_only=True)
class SideKafka:
    """A side's MSK cluster.

    Attributes:
        arn: Its ARN.
        bootstrap: Its brokers, host:port separated by commas.
    """

    arn: str
    bootstrap: str


def deploy_values(
    environment: Environment,
    *,
    zone: str,
    kafka: Mapping[Side, SideKafka],
    settings: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment variables of the deployer.

    Args:
        environment: Where it is.
        zone: Id of the hosted zone.
        kafka: Each side's.
        settings: What a person set for the environment's processes.

    Raises:
        InvalidSettingsError: brokers are not a list of host:port; a setting is one that stacks decide.
    """
    names = environment.names
    decided = {
        "AWS_REGION": environment.region,
        "HIFI_AWS_CHECKPOINTS": names.bucket("checkpoints"),
        "HIFI_AWS_CLOSED_PARAMETER": names.closed_parameter,
        "HIFI_AWS_EVENTS_HOST": environment.events_host,
        "HIFI_AWS_MANAGEMENT_HOSTS": ",".join(environment.management_hosts),
        "HIFI_AWS_PREFIX": names.prefix,
        "HIFI_AWS_REGION": environment.region,
        "HIFI_AWS_VERSIONS": names.bucket("versions"),
        "HIFI_AWS_WEIGHTS_PARAMETER": names.weights_parameter,
        "HIFI_AWS_ZONE": zone,
        "HIFI_BACKEND": _BACKEND,
        "HIFI_DOCUMENTS_TABLE": names.documents_table,
    }
    for side, found in kafka.items():
        decided[f"HIFI_AWS_{side.upper()}_KAFKA"] = found.arn
        decided[f"HIFI_AWS_{side.upper()}_BOOTSTRAP"] = f"{IAM}{brokers(found.bootstrap)}"
    return with_persons(environment, decided, settings or {})


def manifest_values(environment: Environment, *, service_image: str) -> dict[str, str]:
    """The values that go into the manifests.

    Raises:
        InvalidSettingsError: the image has neither tag nor digest.
    """
    networks = {f"{side.upper()}_NETWORK": str(environment.cidrs[side]) for side in Side}
    return {"SERVICE_IMAGE": image("service_image", service_image)} | networks


def main(arguments: Sequence[str]) -> int:
    """Write both files.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="infra.workloads.cluster_values", description=__doc__)
    parser.add_argument("--zone", required=True, help="id of the hosted zone")
    parser.add_argument("--service-image", required=True, help="repository@digest of the services' image")
    for side in Side:
        parser.add_argument(f"--{side}-kafka", required=True, help=f"ARN of {side}'s MSK cluster")
        parser.add_argument(f"--{side}-bootstrap", required=True, help=f"brokers of {side}: host:port, ...")
    given = vars(parser.parse_args(arguments))
    kafka = {
        side: SideKafka(arn=given[f"{side}_kafka"], bootstrap=given[f"{side}_bootstrap"]) for side in Side
    }
    try:
        environment = load_environment(load_run())
        settings = person_settings(environment.name)
        deploy = deploy_values(environment, zone=given["zone"], kafka=kafka, settings=settings)
        manifest = manifest_values(environment, service_image=given["service_image"])
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    (CLUSTER / "deploy.env").write_text(env_file(deploy))
    (CLUSTER / "release.env").write_text(env_file(manifest))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
