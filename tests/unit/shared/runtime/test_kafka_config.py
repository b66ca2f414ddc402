"""A client's access to the brokers: plain on one machine, by the process's AWS role in a cloud."""

import base64
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from confluent_kafka import Producer

from shared.kafka.background_reader import reader_config
from shared.kafka.consumer import member_config
from shared.kafka.producer import producer_config
from shared.runtime.kafka_config import client_config, region_of, spark_options, spark_source_options

_HOSTS = ",".join(f"b-{number}.hifi.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098" for number in (1, 2, 3))
_MSK = f"iam://{_HOSTS}"


def test_brokers_of_one_machine_are_reached_plainly() -> None:
    assert client_config("127.0.0.1:9092") == {"bootstrap.servers": "127.0.0.1:9092"}
    assert spark_options("127.0.0.1:9092") == {"kafka.bootstrap.servers": "127.0.0.1:9092"}


@pytest.mark.parametrize("config", [producer_config, reader_config])
def test_every_client_of_msk_speaks_tls_and_shows_a_token(
    config: Callable[[str, str], dict[str, Any]],
) -> None:
    found = config(_MSK, "test")
    assert found["bootstrap.servers"] == _HOSTS
    assert (found["security.protocol"], found["sasl.mechanisms"]) == ("SASL_SSL", "OAUTHBEARER")


def test_librdkafka_asks_for_a_token_signed_for_the_clusters_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
    config = client_config(_MSK)
    told: list[tuple[str, float]] = []

    def listen(given: str) -> tuple[str, float]:
        told.append(config["oauth_cb"](given))
        return told[-1]

    Producer(config | {"oauth_cb": listen, "bootstrap.servers": "127.0.0.1:1", "log_level": 0}).poll(1)

    (token, ends), *_ = told
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    assert url.hostname == "kafka.eu-west-1.amazonaws.com"
    asked = parse_qs(url.query)
    assert asked["Action"] == ["kafka-cluster:Connect"]
    assert "/eu-west-1/kafka-cluster/" in asked["X-Amz-Credential"][0]
    assert 60 < ends - time.time() <= 900


def test_spark_takes_the_plug_in_of_aws_and_hosts_without_the_scheme() -> None:
    found = spark_options(_MSK)
    assert found["kafka.bootstrap.servers"] == _HOSTS
    assert (found["kafka.security.protocol"], found["kafka.sasl.mechanism"]) == ("SASL_SSL", "OAUTHBEARER")


def test_every_client_and_sparks_source_read_in_the_zone_that_the_process_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HIFI_CLIENT_RACK", "euw1-az2")
    assert reader_config(_MSK, "test")["client.rack"] == "euw1-az2"
    assert member_config(_MSK, "test", "retry")["client.rack"] == "euw1-az2"
    # Each executor uses its own zone, not the driver's.
    found = spark_source_options(_MSK)
    assert found["kafka.client.rack"] == "${env:HIFI_CLIENT_RACK}"
    assert found.items() >= spark_options(_MSK).items()


def test_without_a_zone_the_leaders_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIFI_CLIENT_RACK", raising=False)
    assert "client.rack" not in reader_config(_MSK, "test")
    assert spark_source_options(_MSK) == spark_options(_MSK)


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("b-1.x.y.c4.kafka.us-east-2.amazonaws.com:9098", "us-east-2"),
        ("boot-a1b2.c1.kafka-serverless.eu-central-1.amazonaws.com:9098", "eu-central-1"),
        ("b-1.x.y.c4.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
    ],
)
def test_the_region_is_that_of_the_hosts(host: str, region: str) -> None:
    assert region_of(host) == region


@pytest.mark.parametrize("addresses", ["", "127.0.0.1:9092", "kafka.example.com:9098"])
def test_hosts_without_a_region_are_refused_with_the_name_of_the_setting(addresses: str) -> None:
    with pytest.raises(ValueError, match=r"HIFI_BOOTSTRAP: .* iam://"):
        client_config(f"iam://{addresses}")
