"""What workflows ask of an environment, as lines of name=value: `python -m infra.workloads.facts`."""

import sys

from infra.config import Environment, InvalidSettingsError, load_environment, load_run


def facts(environment: Environment) -> dict[str, str]:
    """Region, roles, registry, prefix of names, and the name that the traffic follows."""
    names, account, region = environment.names, environment.account, environment.region
    registry, _, _ = names.repository("service").rpartition("/")
    return {
        "region": region,
        "plan_role": f"arn:aws:iam::{account}:role/{names.plan_role}",
        "deploy_role": f"arn:aws:iam::{account}:role/{names.deploy_role}",
        "registry": f"{account}.dkr.ecr.{region}.amazonaws.com/{registry}",
        "prefix": names.prefix,
        "events": f"events.{environment.domain}",
    }


def main() -> int:
    """Print the facts; the exit code."""
    try:
        found = facts(load_environment(load_run()))
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.writelines(f"{name}={value}\n" for name, value in found.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
