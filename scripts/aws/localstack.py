"""An AWS on this machine, until Ctrl-C: `python -m scripts.aws.localstack [docker|host|moto]`.

LocalStack in a container where an engine runs; from its Python package where a Python for it is found;
otherwise moto's server, which knows MSK and EKS too and is what `make deploy-local` needs. All listen on the
same port.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from shutil import which
from urllib.parse import urlsplit

from localstack_client.config import get_service_endpoint

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-localstack"
DATA = ROOT / ".hifi" / "localstack"
LIBRARIES = DATA / "var" / "lib" / "localstack" / "lib"
SERVICES = "s3,route53,secretsmanager,kms,iam,dynamodb,sts"


class Way(StrEnum):
    """How the endpoint is served."""

    DOCKER = "docker"
    HOST = "host"
    MOTO = "moto"


def choose(*, asked: str | None, engine: bool, interpreter: Path | None) -> Way:
    """Decide how to serve.

    Args:
        asked: The way the user named, if any.
        engine: Whether a container engine answers.
        interpreter: The Python of the environment that holds LocalStack.

    Raises:
        ValueError: The way that was asked for is unknown or cannot be gone here; the message says what to do.
    """
    if asked is None:
        return Way.DOCKER if engine else Way.HOST if interpreter else Way.MOTO
    if asked not in set(Way):
        raise ValueError(f"{asked}: no such way; give one of {', '.join(Way)}")
    if asked == Way.DOCKER and not engine:
        raise ValueError("docker: no container engine answers; start one, or give host or moto")
    if asked == Way.HOST and interpreter is None:
        raise ValueError("host: LocalStack needs python3.13; install it, or give docker or moto")
    return Way(asked)


def main() -> None:
    """Serve in the foreground."""
    os.chdir(ROOT)
    asked, engine = next(iter(sys.argv[1:]), None), _engine_answers()
    if asked == Way.HOST or (asked is None and not engine):
        subprocess.run(["scripts/setup.sh", "localstack"], check=False)
    interpreter = installed()
    try:
        way = choose(asked=asked, engine=engine, interpreter=interpreter)
    except ValueError as error:
        sys.exit(f"localstack: {error}")
    port = urlsplit(get_service_endpoint("s3")).port or 4566
    print(f"localstack: by {way.value} at 127.0.0.1:{port}; Ctrl-C ends it", flush=True)
    command, environment = serving(way, port, interpreter)
    # Takes this process's place: a signal then reaches what serves.
    os.execvpe(command[0], command, environment)  # noqa: S606 -- no shell is wanted


def serving(way: Way, port: int, interpreter: Path | None) -> tuple[list[str], Mapping[str, str]]:
    """Command line and environment variables of what serves."""
    if way is Way.DOCKER:
        return ["docker", "compose", "-f", "scripts/aws/compose.yaml", "up"], os.environ
    if way is Way.HOST:
        return [str(interpreter), "-m", "localstack.runtime.main"], host_environment(port)
    return [sys.executable, "-m", "tests.deploy.aws", "--port", str(port)], os.environ


def installed() -> Path | None:
    """The Python of the environment that holds LocalStack, if it was made here."""
    return ENVIRONMENT / "bin" / "python" if (ENVIRONMENT / "stamp").exists() else None


def host_environment(port: int, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables for LocalStack in host mode: on the loopback address, in a folder of its own."""
    return {
        **{name: value for name, value in environ.items() if name in {"PATH", "HOME", "JAVA_HOME"}},
        "FILESYSTEM_ROOT": str(DATA),
        # Else it takes a machine that is itself a container for its own, and writes to /var/lib.
        "OVERRIDE_IN_DOCKER": "0",
        "GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "SERVICES": SERVICES,
        "DNS_ADDRESS": "0",
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "DISABLE_EVENTS": "1",
    }


def _engine_answers() -> bool:
    docker = which("docker")
    if docker is None:
        return False
    return subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
