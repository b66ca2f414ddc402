"""Judges the brokers of a customer's cluster: how many it names, and their addresses."""

from collections.abc import Sequence
from typing import Final

from aiohttp.abc import AbstractResolver

from shared.connectors.kafka import Server
from shared.contracts.egress_policy import EgressPolicy, is_loopback
from shared.runtime.egress import check_addresses

MOST_BROKERS: Final = 100
"""Brokers that a cluster may name. librdkafka keeps a thread and two file descriptors for each."""


class NeedsTlsError(Exception):
    """A cluster without TLS is not on this machine."""

    def __init__(self) -> None:
        super().__init__("tls_needed: without `tls` only brokers on this machine are allowed")


class TooManyBrokersError(Exception):
    """A cluster names more brokers than it may."""

    def __init__(self, named: int) -> None:
        said = f"the cluster names {named:,} brokers; {MOST_BROKERS} are allowed at most"
        super().__init__(f"too_many_brokers: {said}")
        self.named = named


async def check_brokers(
    brokers: Sequence[Server], egress: EgressPolicy, resolver: AbstractResolver, *, tls: bool
) -> None:
    """Check that brokers may be dialled.

    Raises:
        TooManyBrokersError: if there are too many.
        RefusedAddressError: if one of them must not be dialled.
        NeedsTlsError: if one is not on this machine, and there is no TLS.
        OSError: if a name does not resolve.
    """
    if len(brokers) > MOST_BROKERS:
        raise TooManyBrokersError(len(brokers))
    for host, port in brokers:
        await check_addresses(host, port, egress, resolver)
        if not tls and not is_loopback(host):
            raise NeedsTlsError
