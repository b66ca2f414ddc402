"""Opens connections to customers' addresses, and enforces the egress policy.

A host name proves nothing: its owner decides at every look-up which address it resolves to. So the function
that makes the socket checks the address that it connects to. Look-ups are filtered as well: if a name has a
public and a private address the public one is used. The name is refused only if all its addresses are.
"""

import asyncio
import functools
import socket
from contextvars import ContextVar
from ipaddress import ip_address
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from shared.contracts.egress_policy import EgressPolicy, Kind, why_refused
from shared.runtime.bounded_connector import BoundedConnector
from shared.runtime.dns_cache import CachingResolver
from shared.runtime.fair_share import FairShare

LINE_BYTES: Final = 8190
"""Longest status line and longest header of a response."""

HEADERS: Final = 128
"""Most headers of a response. With LINE_BYTES this bounds the memory of its head to 1 MiB."""

_RECEIVE_BYTES: Final = 32 * 1024
"""Socket receive buffer; 256 KiB by default. aiohttp parses all that the buffer holds at once, and as objects
a response of nothing but interim ones (25 bytes each) takes 20 to 35 times its bytes."""

_KEEP_ALIVE_SECONDS: Final = 30.0

MOST_IDLE: Final = 1_000
"""Most idle connections of a session by default: asyncio's TLS holds 256 KiB for each, 250 MiB together."""


SENDER: Final = ContextVar("sender", default="")
"""The tenant that the current task sends for. aiohttp has no way to pass it to a resolver."""


class RefusedAddressError(OSError):
    """A customer's host resolves to an address that must not be dialled.

    The text does not name the address: a customer could otherwise map the network by its names.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__(why_refused(kind))


def open_session(
    connections: int, egress: EgressPolicy, resolver: AbstractResolver | None = None, idle: int = MOST_IDLE
) -> aiohttp.ClientSession:
    """A session that enforces `egress`, does not decompress responses and keeps no cookies.

    Call it on the loop that will use it. Proxies of the environment are ignored: they would dial for us.

    Args:
        connections: most connections at a time, over all destinations.
        egress: what may be dialled.
        resolver: resolves names; the system's if None. The caller closes one that it passes.
        idle: most connections that are kept beside these for later requests, over all destinations.
    """
    guarded = GuardedResolver(resolver or aiohttp.ThreadedResolver(), egress)
    connector = BoundedConnector(
        idle,
        limit=connections,
        resolver=CachingResolver(guarded, SENDER.get, asyncio.get_running_loop().time),
        socket_factory=functools.partial(guarded_socket, egress),
        use_dns_cache=False,  # aiohttp's would look up for all tenants in the task of the first
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
    """A socket for the address that it will be connected to.

    Raises:
        RefusedAddressError: if the address must not be dialled.
    """
    family, kind, protocol, _, address = info
    refused = _refusal(str(address[0]), egress)
    if refused is not None:
        raise RefusedAddressError(refused)
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
    return opened


def _refusal(host: str, egress: EgressPolicy) -> Kind | None:
    """Why a host is refused; host names always are, because connecting would resolve them again."""
    try:
        return egress.refuses(ip_address(host))
    except ValueError:
        return Kind.RESERVED


async def check_addresses(host: str, port: int, egress: EgressPolicy, resolver: AbstractResolver) -> None:
    """Check a name for a client that dials by itself: all its addresses must be allowed.

    It cannot detect that the name resolves to another address when the client looks it up.

    Raises:
        RefusedAddressError: if an address must not be dialled.
        OSError: if the name does not resolve.
    """
    for each in await resolver.resolve(host, port, socket.AF_UNSPEC):
        refused = _refusal(each["host"], egress)
        if refused is not None:
            raise RefusedAddressError(refused)


class FairResolver(AbstractResolver):
    """The system's resolver; the tenants share its threads.

    A thread is busy until its look-up ends, which takes up to half a minute if no name server answers: long
    after the request that needed it has timed out. So a tenant keeps its place until then.
    """

    def __init__(self, threads: int) -> None:
        """`threads`: how many the default executor of the loop has."""
        self._threads = aiohttp.ThreadedResolver()
        self._shares = FairShare(threads)
        self._looking_up: set[asyncio.Task[list[ResolveResult]]] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name.

        Raises:
            OSError: if the name does not resolve.
        """
        task = asyncio.create_task(self._look_up(host, port, family))
        self._looking_up.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def _look_up(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        async with self._shares.held(SENDER.get()):
            return await self._threads.resolve(host, port, family)

    def _ended(self, task: asyncio.Task[list[ResolveResult]]) -> None:
        self._looking_up.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have gone

    async def close(self) -> None:
        """Cancel what waits; a thread ends with its look-up."""
        for task in list(self._looking_up):
            task.cancel()


class GuardedResolver(AbstractResolver):
    """Filters the addresses that another resolver finds."""

    def __init__(self, inner: AbstractResolver, egress: EgressPolicy) -> None:
        self._inner = inner
        self._egress = egress

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The allowed addresses of a name.

        Raises:
            RefusedAddressError: if all its addresses are refused.
            OSError: if the name does not resolve.
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
        """Close the wrapped resolver."""
        await self._inner.close()
