"""Connections to hifi's own services: encrypted as the side's are, through no proxy of the environment."""

import httpx

from shared.runtime.authorities import authorities


def connections(url: str, timeout: float, most: int) -> httpx.AsyncClient:
    """At most so many to the service at `url`; `timeout` in seconds."""
    return httpx.AsyncClient(
        base_url=url,
        timeout=timeout,
        verify=authorities(url),
        limits=httpx.Limits(max_connections=most),
        trust_env=False,
    )
