"""Prints the values that workflows need of an environment: `python -m infra.workloads.outputs`."""

import sys

from infra.config import Environment, InvalidSettingsError, load_environment, load_run


def outputs(environment: Environment) -> dict[str, str]:
    """Region, roles, image registry, prefix of names and the host name of the events."""
    names, region = environment.names, environment.region
    registry, _, _ = names.repository("service").rpartition("/")
    return {
        "region": region,
        "plan_role": environment.arns.iam(f"role/{names.plan_role}"),
        "deploy_role": environment.arns.iam(f"role/{names.deploy_role}"),
        "registry": f"{environment.account}.dkr.ecr.{region}.amazonaws.com/{registry}",
        "prefix": names.prefix,
        "events": environment.events_host,
    }


def main() -> int:
    """Print one line of name=value for each output.

    Returns:
        The exit code.
    """
    try:
        lines = [f"{name}={value}\n" for name, value in outputs(load_environment(load_run())).items()]
    except InvalidSettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.writelines(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
