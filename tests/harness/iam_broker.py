"""One broker that admits clients as MSK does: TLS, and tokens signed with AWS credentials."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.local.addresses import HOST
from scripts.local.jars import ensure_jars
from scripts.local.kafka import brokers
from scripts.local.ports import free_base
from scripts.local.process_marks import OF_SIDE
from scripts.local.side import Side
from shared.kafka.admin import wait_for_brokers
from shared.runtime.jvm import MAPS, java
from tests.harness.pod_identity import KEY, REGION, SECRET

_VALIDATOR = Path(__file__).with_name("MskTokens.java")
_LISTENER = "listener.name.sasl_ssl"
_LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@dataclass(frozen=True, kw_only=True)
class IamBroker:
    """A running broker.

    Attributes:
        plain: Its address for the test itself, without TLS and login.
        secured: Its address for clients with TLS and a token.
        certificate: File of its certificate, PEM, which clients must trust.
        log: File of its log.
    """

    plain: str
    secured: str
    certificate: Path
    log: Path


@contextmanager
def iam_broker(folder: Path) -> Iterator[IamBroker]:
    """Run the broker until the block ends."""
    jars = ensure_jars(print).broker
    side = Side(root=folder / "broker", port=free_base(), partitions=1)
    side.create()
    keystore, certificate = _certificate(folder)
    brokers.prepare(side, jars, (1,), _properties(side, keystore))
    log = side.logs / "broker-1.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(side, jars, folder),
            env={**os.environ, OF_SIDE: str(side.root)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    plain = f"{HOST}:{side.broker_port(1)}"
    try:
        wait_for_brokers(plain, 1)
        yield IamBroker(
            plain=plain, secured=f"{HOST}:{side.broker_port(2)}", certificate=certificate, log=log
        )
    finally:
        process.terminate()
        process.wait(60)


def _properties(side: Side, keystore: Path) -> dict[str, str]:
    """One broker alone, with a listener for the test and one as MSK's."""
    plain, secured = (f"{HOST}:{side.broker_port(number)}" for number in (1, 2))
    controller = f"{HOST}:{side.controller_port(1)}"
    return {
        "listeners": f"PLAINTEXT://{plain},SASL_SSL://{secured},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{plain},SASL_SSL://{secured}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        f"{_LISTENER}.ssl.keystore.type": "PEM",
        f"{_LISTENER}.ssl.keystore.location": str(keystore),
        f"{_LISTENER}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{_LISTENER}.oauthbearer.sasl.jaas.config": f'{_LOGIN} required unsecuredLoginStringClaim_sub="b";',
        f"{_LISTENER}.oauthbearer.sasl.server.callback.handler.class": _VALIDATOR.stem,
        "auto.create.topics.enable": "true",
        **brokers.single_copies(side),
    }


def _command(side: Side, jars: Path, folder: Path) -> list[str]:
    """The broker's command line, with the validator on its class path."""
    classes = folder / "classes"
    compiler = Path(java())
    subprocess.run(
        [compiler.with_name("javac"), "-cp", f"{jars}/*", "-d", classes, _VALIDATOR], check=True, timeout=300
    )
    given = brokers.command(side, 1, jars)
    plain = [word for word in given if not word.startswith(MAPS)]
    place = plain.index("-cp") + 1
    plain[place] = f"{classes}:{plain[place]}"
    known = {"key": KEY, "secret": SECRET, "region": REGION}
    return [plain[0], *(f"-Dhifi.test.{name}={value}" for name, value in known.items()), *plain[1:]]


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A key with a certificate of its own in one file, and the certificate alone."""
    key, certificate, both = (folder / name for name in ("key.pem", "certificate.pem", "both.pem"))
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=broker", "-addext", f"subjectAltName=IP:{HOST}"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
        timeout=300,
    )
    both.write_text(key.read_text() + certificate.read_text())
    return both, certificate
