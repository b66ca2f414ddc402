"""Prints the values that workflows need of an environment: `python -m infra.workloads.outputs`."""

import sys

from infra.config import Environment, InvalidSettingsError, load_environment, load_run


def outputs(environment: Environment) -> dict[str, str]:
    """Values that workflows need of an environment: roles, names, events host, where the traffic is kept."""
    names, region = environment.names, environment.region
    registry, _, _ = names.repository("service").rpartition("/")
    local = {} if environment.endpoint is None else {"endpoint": environment.endpoint}
    return local | {
        "region": region,
        "plan_role": environment.arns.iam(f"role/{names.plan_role}"),
        "deploy_role": environment.arns.iam(f"role/{names.deploy_role}"),
        "registry": f"{environment.account}.dkr.ecr.{region}.amazonaws.com/{registry}",
        "prefix": names.prefix,
        "domain": environment.domain,
        "documents_table": names.documents_table,
        "versions": names.bucket("versions"),
        "events": environment.events_host,
        "management": ",".join(environment.management_hosts),
        "exposure": environment.exposure.value,
        "runner_prefix": f"codebuild-{names.prefix}",
        "weights_parameter": names.weights_parameter,
        "closed_parameter": names.closed_parameter,
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
