"""The one place where connections to what customers name are made, and where what they lead to is checked.

A name says nothing: whoever owns it decides, at every look-up, which address it leads to. So the check is on
the address that the socket connects to, by the function that makes the socket. A look-up is checked as well:
a name with a public and a private address is good for the public one, and only where all of them are refused
is there no hope.
"""

import functools
import socket
from ipaddress import ip_address
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from shared.contracts.egress_policy import EgressPolicy, Kind, why_refused

LINE_BYTES: Final = 8190
"""Of a response's status line, and of each header."""

HEADERS: Final = 128
"""Of a response; with LINE_BYTES the most memory that its head can take, 1 MiB."""

_DNS_SECONDS: Final = 30
_KEEP_ALIVE_SECONDS: Final = 30.0


class RefusedAddressError(OSError):
    """What a customer named leads to an address that must not be dialled.

    Does not say which: a customer who may read what inner names lead to could map the network.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__(why_refused(kind))


def open_session(
    connections: int, egress: EgressPolicy, resolver: AbstractResolver | None = None
) -> aiohttp.ClientSession:
    """A session that dials nothing beyond `egress`, unpacks nothing and keeps no cookie.

    Call it on the loop that will use it. No proxy of the environment is used: it would dial in our place.

    Args:
        connections: most of them at once, over all destinations.
        egress: what may be dialled.
        resolver: looks names up; the system's if None. Whoever gives one closes it.
    """
    connector = aiohttp.TCPConnector(
        limit=connections,
        resolver=GuardedResolver(resolver or aiohttp.ThreadedResolver(), egress),
        socket_factory=functools.partial(guarded_socket, egress),
        ttl_dns_cache=_DNS_SECONDS,
        keepalive_timeout=_KEEP_ALIVE_SECONDS,
    )
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
        headers={"User-Agent": "hifi", "Accept": "*/*", "Accept-Encoding": "identity"},
        max_line_size=LINE_BYTES,
        max_field_size=LINE_BYTES,
        max_headers=HEADERS,
    )


def guarded_socket(egress: EgressPolicy, info: aiohttp.AddrInfoType) -> socket.socket:
    """A socket for an address, which is the very object that it will be connected to.

    Raises:
        RefusedAddressError: if the address must not be dialled.
    """
    family, kind, protocol, _, address = info
    refused = _refusal(str(address[0]), egress)
    if refused is not None:
        raise RefusedAddressError(refused)
    return socket.socket(family, kind, protocol)


def _refusal(host: str, egress: EgressPolicy) -> Kind | None:
    """A host that is no plain address is refused: to connect to it would look it up again."""
    try:
        return egress.refuses(ip_address(host))
    except ValueError:
        return Kind.RESERVED


async def check_addresses(host: str, port: int, egress: EgressPolicy) -> None:
    """For a client that dials by itself: all addresses of a name must be good, it may take any of them.

    What it does not see is an answer that is another one when the client looks the name up itself.

    Raises:
        RefusedAddressError: if one of them must not be dialled.
        OSError: if the name has none.
    """
    for each in await aiohttp.ThreadedResolver().resolve(host, port, socket.AF_UNSPEC):
        refused = _refusal(each["host"], egress)
        if refused is not None:
            raise RefusedAddressError(refused)


class GuardedResolver(AbstractResolver):
    """Leaves out the refused ones of the addresses that another resolver finds."""

    def __init__(self, inner: AbstractResolver, egress: EgressPolicy) -> None:
        self._inner = inner
        self._egress = egress

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name that may be dialled.

        Raises:
            RefusedAddressError: if the name has addresses, and none may be.
            OSError: if it has none.
        """
        found = await self._inner.resolve(host, port, family)
        if not found:
            raise OSError(f"{host} has no address")
        judged = [(each, _refusal(each["host"], self._egress)) for each in found]
        refused = [kind for _, kind in judged if kind is not None]
        if len(refused) == len(found):
            raise RefusedAddressError(refused[0])
        return [each for each, kind in judged if kind is None]

    async def close(self) -> None:
        """Close the other resolver."""
        await self._inner.close()
