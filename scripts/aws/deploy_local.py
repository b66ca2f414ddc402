"""Deploy every stack to an AWS on this machine: `python -m scripts.aws.deploy_local`.

Takes the one that `make localstack` serves, and leaves the stacks there. Where nothing serves, it starts one
for the time of the deployment, which shows that the stacks can be applied and removes them with itself.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from localstack_client.config import get_service_endpoint

from scripts.aws.progress import Progress

ROOT = Path(__file__).parents[2]
STACKS = ("foundation", "blue", "green", "edge")
START_S = 60
NEEDED = {
    "node": "Node.js 20 or newer, for example: apt-get install nodejs npm",
    "terraform": "1.11 or newer from https://developer.hashicorp.com/terraform/install",
}


class Serves(Enum):
    """The program that answers at the endpoint."""

    NOTHING = auto()
    LOCALSTACK = auto()
    MOTO = auto()


def what_serves(endpoint: str) -> Serves:
    """Ask the endpoint what it is."""
    if _answers(f"{endpoint}/_localstack/health"):
        return Serves.LOCALSTACK
    return Serves.MOTO if _answers(f"{endpoint}/moto-api/") else Serves.NOTHING


def missing_tool() -> str | None:
    """The first command that is needed and not there, with where to get it."""
    return next((f"no {name}: {source}" for name, source in NEEDED.items() if which(name) is None), None)


def terraform(name: str) -> list[str]:
    """Terraform's command line over a synthesised stack, up to its command."""
    return ["terraform", f"-chdir=cdktf.out/stacks/{name}"]


def main() -> None:
    """Deploy; the exit status is Terraform's."""
    missing = missing_tool()
    if missing:
        sys.exit(f"deploy-local: {missing}")
    endpoint = str(get_service_endpoint("s3"))
    found = what_serves(endpoint)
    if found is Serves.LOCALSTACK:
        sys.exit(
            f"deploy-local: LocalStack serves at {endpoint}; its free edition has no MSK, EKS, ECR and ELB. "
            "End it, then `make localstack WAY=moto` or only `make deploy-local`"
        )
    try:
        if found is Serves.MOTO:
            deploy(endpoint, ROOT / ".hifi" / "aws")
            return
        with serving(endpoint), TemporaryDirectory() as state:
            deploy(endpoint, Path(state))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


def deploy(endpoint: str, state: Path) -> None:
    """Synthesise for the endpoint and apply every stack.

    Raises:
        subprocess.CalledProcessError: A command failed; it has said why.
    """
    own = {"HIFI_ENVIRONMENT": "local", "HIFI_AWS_ENDPOINT": endpoint, "HIFI_STATE_FOLDER": str(state)}
    environment = {**os.environ, **own}
    _run([sys.executable, "-m", "infra.main"], environment)
    for name in STACKS:
        _run([*terraform(name), "init", "-input=false", "-reconfigure"], environment)
        _apply(name, environment)


def _apply(name: str, environment: Mapping[str, str]) -> None:
    command = [*terraform(name), "apply", "-json", "-input=false", "-auto-approve"]
    progress = Progress(name, time.monotonic())
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # for the type checker: it is a pipe
        for line in process.stdout:
            for text in progress.lines(json.loads(line), time.monotonic()):
                print(f"deploy-local: {text}", flush=True)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


@contextmanager
def serving(endpoint: str) -> Iterator[None]:
    """Serve moto, and what it lacks, at the endpoint.

    Raises:
        TimeoutError: It does not answer.
    """
    port = str(urlsplit(endpoint).port)
    with subprocess.Popen([sys.executable, "-m", "tests.deploy.aws", "--port", port], cwd=ROOT) as server:
        try:
            _await(endpoint)
            yield
        finally:
            server.terminate()


def _await(endpoint: str) -> None:
    deadline = time.monotonic() + START_S
    while what_serves(endpoint) is not Serves.MOTO:
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing answers at {endpoint} after {START_S} s")
        time.sleep(0.2)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as reply:  # noqa: S310 -- an address of this machine
            return int(reply.status) == 200
    except (URLError, OSError):
        return False


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
