"""The authorities that HTTP clients trust."""

import ssl

from shared.runtime.authorities import authorities


def test_a_client_of_https_trusts_what_httpx_trusts() -> None:
    assert authorities("https://api.example.com") is True


def test_a_client_of_http_reads_no_certificates_and_would_trust_none() -> None:
    found = authorities("http://127.0.0.1:8080")
    assert isinstance(found, ssl.SSLContext)
    assert (found.get_ca_certs(), found.verify_mode, found.check_hostname) == ([], ssl.CERT_REQUIRED, True)
