"""Behaviours of a destination on a real socket: the left side of the answer table."""

import asyncio
import datetime
import ipaddress
import json
import socket
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.contract.transmit_rig import AMPLE, Rig
from tests.harness.scripted_server import Manner, reply
from tests.harness.waiting import free_port

Act = Callable[[Rig], dict[str, Any]]
"""Prepares the far side; returns fields of the destination."""


def answers(*responses: bytes) -> Act:
    """Gives these responses in turn, then repeats the last one."""

    def act(rig: Rig) -> dict[str, Any]:
        rig.server.answer("/", *responses)
        return {}

    return act


def says(status: int, headers: str = "") -> Act:
    return answers(reply(status, headers, body="" if status == 204 else "text"))


def manner(how: Manner, **fields: Any) -> Act:
    def act(rig: Rig) -> dict[str, Any]:
        rig.server.manners["/"] = how
        return fields

    return act


def takes_at_most(events: int) -> Act:
    async def how(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(200 if len(json.loads(body)) <= events else 413))

    return manner(how)


def status_then_reset(status: int) -> Manner:
    async def how(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 1000\r\n\r\nhalf" % status)
        await writer.drain()
        writer.transport.abort()

    return how


async def reset(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def hangs(rig: Rig) -> dict[str, Any]:
    """Takes a request and does not answer; the timeout passes as soon as it has come."""

    async def how(_: bytes, writer: asyncio.StreamWriter) -> None:
        rig.let_pass(AMPLE)
        await asyncio.Event().wait()

    rig.server.manners["/"] = how
    return {"timeout_seconds": AMPLE}


def partly(rig: Rig) -> dict[str, Any]:
    """Takes one event, fails for the next, refuses the last; each is a request of its own."""

    async def how(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply({"e0": 200, "e1": 503, "e2": 404}[json.loads(body)["id"]]))

    rig.server.manners["/"] = how
    return {"options": {"format": "event"}}


def resets_in_the_request(rig: Rig) -> dict[str, Any]:
    """Reads a part of the request's body and cuts the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(10)
        writer.transport.abort()

    return {"options": {"url": f"http://127.0.0.1:{rig.listen(serve)}/"}}


def reads_nothing(rig: Rig) -> dict[str, Any]:
    """Accepts the connection, and reads nothing beyond the socket's buffer; then the timeout passes."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        rig.let_pass(AMPLE)
        await asyncio.Event().wait()

    port = rig.listen(serve, sock=listener)
    return {
        "options": {"url": f"http://127.0.0.1:{port}/"},
        "timeout_seconds": AMPLE,
        "max_bytes": 8 * 1024 * 1024,
    }


def leads_to(url: str) -> Act:
    return lambda _: {"options": {"url": url.format(closed=free_port())}}


def speaks_no_tls(rig: Rig) -> dict[str, Any]:
    """Answers a handshake with plain HTTP."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply(400))
        await writer.drain()

    return {"options": {"url": f"https://127.0.0.1:{rig.listen(serve)}/"}}


def proves_nothing(rig: Rig) -> dict[str, Any]:
    """Speaks TLS with a self-signed certificate."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await rig.server.serve(reader, writer)

    return {"options": {"url": f"https://127.0.0.1:{rig.listen(serve, ssl=self_signed())}/"}}


def self_signed() -> ssl.SSLContext:
    return serving(certificate_of_itself(datetime.timedelta(days=1)))


def certificate_of_itself(left: datetime.timedelta) -> bytes:
    """A self-signed certificate for 127.0.0.1, valid for the given time, with its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + left)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return certificate.public_bytes(pem) + key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def serving(certificate: bytes) -> ssl.SSLContext:
    """A server's TLS context with a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(certificate)
        context.load_cert_chain(file.name)
    return context
