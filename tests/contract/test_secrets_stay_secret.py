"""hifi writes no secret's value anywhere, whatever fails and whatever a server responds."""

import asyncio
import base64
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from scripts.local.side import REACH
from shared.contracts.document_parsing import parse
from shared.contracts.documents import Catalogue, Destination, Entry, encode_entry
from shared.contracts.publish_plan import document_key
from shared.contracts.secrets import named_secrets
from shared.documents.check import field_problems
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable
from tests.contract.connectors.far import Silent, nobody
from tests.contract.connectors.http_far import Everywhere
from tests.contract.transmit_rig import Rig
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

CANARY: Final = "canary0in1a2coal3mine"
NAME: Final = "t/canary"
REFERENCE: Final = f"secret://{NAME}"
SIGNING: Final = "whsec_" + base64.b64encode(CANARY.encode()).decode()
BASIC: Final = base64.b64encode(f"u:{CANARY}".encode()).decode()
FORMS: Final = (CANARY, SIGNING, SIGNING.removeprefix("whsec_"), BASIC)
AWS: Final = {"region": "eu-west-1", "access_key_id": "AKIAEXAMPLE", "secret_access_key": REFERENCE}


def kinds(port: int) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """A destination of each kind that needs the secret, on a port of this machine."""
    url = f"http://127.0.0.1:{port}"
    sasl = {"mechanism": "PLAIN", "username": "u", "password": REFERENCE}
    kafka = {"bootstrap_servers": [f"127.0.0.1:{port}"], "topic": "t", "tls": False, "sasl": sasl}
    token = {"token_url": f"{url}/token", "client_id": "c", "client_secret": REFERENCE}
    return {
        "bearer": ("webhook", {"url": url, "auth": {"type": "bearer", "token": REFERENCE}}),
        "basic": ("webhook", {"url": url, "auth": {"type": "basic", "username": "u", "password": REFERENCE}}),
        "oauth": ("webhook", {"url": url, "auth": {"type": "oauth2", **token}}),
        "header": ("webhook", {"url": url, "headers": {"X-Key": REFERENCE}}),
        "signing": ("webhook", {"url": url, "signing": {"keys": [f"{REFERENCE}-signing"]}}),
        "elastic-key": ("elasticsearch", {"url": url, "index": "i", "api_key": REFERENCE}),
        "elastic": ("elasticsearch", {"url": url, "index": "i", "username": "u", "password": REFERENCE}),
        "kinesis": ("kinesis", {"stream": "s", "endpoint": url, **AWS}),
        "s3": ("s3", {"bucket": "bucket", "endpoint": url, **AWS}),
        "kafka": ("kafka", kafka),
    }


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[SecretTable]:
    path = tmp_path / "secrets.yaml"
    path.write_text(yaml.safe_dump({NAME: CANARY, f"{NAME}-signing": SIGNING}))
    path.chmod(0o600)
    table = SecretTable(store_for("local", path)).start()
    yield table
    table.stop()


@pytest.fixture
def rig(secrets: SecretTable) -> Iterator[Rig]:
    rig = Rig(REACH)
    rig.replace_secrets(secrets)
    yield rig
    rig.close()


def repeating(rig: Rig) -> int:
    """Port of a server that echoes the request in every part of its response."""

    async def manner(body: bytes, writer: asyncio.StreamWriter) -> None:
        head = rig.server.heads[-1].decode()
        heard = next(
            (x.split(": ", 1)[1] for x in head.split("\r\n") if x.startswith("Authorization")), CANARY
        )
        word = heard.split()[-1]
        item = {"status": 400, "error": {"type": CANARY, "reason": heard}}
        said = {"__type": CANARY, "items": [{"index": item}], "error": CANARY, "error_description": heard}
        text = f"<Error><Code>{CANARY}</Code></Error>" + msgspec.json.encode(said).decode()
        if b"/token" in rig.server.heads[-1] or b"_bulk" in rig.server.heads[-1]:
            text = msgspec.json.encode(said).decode()
        status = 200 if "_bulk" in head else 400
        writer.write(reply(status, f"Retry-After: {word}\r\nX-Heard: {heard}\r\n", text))

    rig.server.manners = Everywhere(manner)
    return rig.server.port


def test_nothing_that_is_written_holds_a_secret(
    rig: Rig, secrets: SecretTable, caplog: pytest.LogCaptureFixture
) -> None:
    silent = Silent()
    batch: list[dict[str, object]] = []
    documents: list[Destination] = []
    with caplog.at_level(logging.DEBUG):
        for port in (nobody(), silent.port, repeating(rig)):
            for kind, (connector, options) in kinds(port).items():
                name = f"{kind}-{port}"
                rig.lead(name, connector, options, timeout_seconds=2)
                documents.append(Destination(name=name, tenant="t", connector=connector, options=options))
                batch.append(row(len(batch), pipe=name))
        secrets.want(named_secrets(documents))
        assert secrets.wait(60)
        rows = rig.deliver(flat_batch(batch))
    silent.close()
    assert len(rows) == 2 * len(batch)  # nothing was delivered: one receipt, and a retry or a dead letter
    assert b"".join(rig.server.heads).count(CANARY.encode()) >= 3  # it was sent to its own destination
    logged = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    entries = [encode_entry(Entry(version=1, document=document)) for document in documents]
    catalogue = Catalogue({document_key(d): Entry(version=1, document=d) for d in documents})
    shown = [
        repr(secrets),
        repr(catalogue.destinations),
        repr(rig.connector("kafka").__dict__),
        repr(entries),
    ]
    for text in FORMS:
        assert not [line for line in [*logged, *map(repr, rows), *shown] if text in line]


@pytest.mark.parametrize("kind", kinds(1))
def test_a_secret_in_a_document_is_refused_and_not_repeated(kind: str) -> None:
    connector, options = kinds(9)[kind]
    text = (
        msgspec.json.encode(options)
        .decode()
        .replace(f"{REFERENCE}-signing", CANARY)
        .replace(REFERENCE, CANARY)
    )
    raw = {"kind": "destination", "name": "d", "tenant": "t", "connector": connector}
    found = list(field_problems(raw | {"options": msgspec.json.decode(text)}))
    assert CANARY not in repr(found)
    assert found or kind == "header"  # headers may have any content
    assert not list(field_problems(raw | {"options": options}))
    assert CANARY not in repr(parse(raw | {"options": options}))
