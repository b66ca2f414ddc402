"""Say what Terraform would change in one stack: `python -m scripts.aws.plan blue [terraform's options]`."""

import subprocess
import sys
from shutil import which

from infra.config import EnvironmentName, RunSettings
from scripts.aws.deploy_local import NEEDED, ROOT, STACKS, Serves, what_serves


def main() -> None:
    """Synthesise and plan; the exit status is Terraform's."""
    name, *options = sys.argv[1:] or [""]
    problem = _problem(name, RunSettings())
    if problem:
        sys.exit(f"plan: {problem}")
    terraform = ["terraform", f"-chdir=cdktf.out/stacks/{name}"]
    try:
        subprocess.run([sys.executable, "-m", "infra.main"], cwd=ROOT, check=True)
        subprocess.run([*terraform, "init", "-input=false"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        subprocess.run([*terraform, "plan", "-input=false", *options], cwd=ROOT, check=True)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def _problem(name: str, run: RunSettings) -> str | None:
    """What makes a plan impossible, with the mend."""
    if name not in STACKS:
        return f"{name or 'nothing'}: no such stack; give SIDE=blue, green, foundation or edge"
    for command, source in NEEDED.items():
        if which(command) is None:
            return f"no {command}: {source}"
    endpoint = str(run.aws_endpoint).rstrip("/")
    if run.environment is EnvironmentName.LOCAL and what_serves(endpoint) is Serves.NOTHING:
        return (
            f"nothing serves an AWS at {endpoint}: `make localstack WAY=moto`, in another terminal "
            "`make deploy-local`; or name another environment: HIFI_ENVIRONMENT=staging"
        )
    return None


if __name__ == "__main__":
    main()
