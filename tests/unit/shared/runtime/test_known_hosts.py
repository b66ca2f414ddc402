"""Only names that no stranger can own are resolved."""

import pytest

from shared.runtime.known_hosts import is_known


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8090",
        "127.0.0.1",
        "[::1]:8090",
        "10.2.3.4:8080",
        "localhost:8090",
        "observe:8080",
        "observe.hifi.svc:8080",
        "observe.hifi.svc.cluster.local",
        "side.localhost",
        "console.example.com",
        "console.example.com:443",
        "",
    ],
)
def test_addresses_bare_names_the_clusters_and_the_operators_are_known(host: str) -> None:
    assert is_known(host, {"console.example.com"})


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8090",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "localhost.evil.example",
        "evil.example.",
        "console.example.com.evil.example",
        "svc.cluster.local.evil.example",
        "[evil",
    ],
)
def test_every_other_name_is_not(host: str) -> None:
    assert not is_known(host, {"console.example.com"})
