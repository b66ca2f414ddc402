"""Authorities that a client of HTTP trusts."""

import ssl


def authorities(url: str) -> ssl.SSLContext | bool:
    """`verify` of an httpx client of a URL.

    Over https it is what httpx does by itself. Over http no one shows a certificate: to read those of all
    authorities would take each client of a side 50 to 100 ms of CPU. This context trusts none.
    """
    return True if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
