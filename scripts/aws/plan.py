"""Say what Terraform would change in one stack: `python -m scripts.aws.plan blue [terraform's options]`."""

import os
import subprocess
import sys
from collections.abc import Mapping

from localstack_client.config import get_service_endpoint

from scripts.aws.deploy_local import ROOT, STACKS, Serves, missing_tool, terraform, what_serves


def main() -> None:
    """Synthesise and plan; the exit status is Terraform's."""
    name, *options = sys.argv[1:] or [""]
    problem = _problem(name, os.environ)
    if problem:
        sys.exit(f"plan: {problem}")
    try:
        subprocess.run([sys.executable, "-m", "infra.main"], cwd=ROOT, check=True)
        subprocess.run(
            [*terraform(name), "init", "-input=false"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True
        )
        subprocess.run([*terraform(name), "plan", "-input=false", *options], cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def _problem(name: str, environ: Mapping[str, str]) -> str | None:
    """The problem that makes a plan impossible, with the fix; None if there is none."""
    if name not in STACKS:
        return f"{name or 'nothing'}: no such stack; give SIDE=blue, green, foundation or edge"
    missing = missing_tool()
    if missing:
        return missing
    endpoint = environ.get("HIFI_AWS_ENDPOINT") or str(get_service_endpoint("s3"))
    if environ.get("HIFI_ENVIRONMENT", "local") == "local" and what_serves(endpoint) is Serves.NOTHING:
        return (
            f"nothing serves an AWS at {endpoint}: `make localstack WAY=moto`, in another terminal "
            "`make deploy-local`; or name another environment: HIFI_ENVIRONMENT=staging"
        )
    return None


if __name__ == "__main__":
    main()
