"""The twins' jars and client settings without a Spark cluster: classes load, tokens log a client in.

`tests/spark/test_twin_image.py` tests all of it with Spark.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from scripts.local.spark_image import lay_out
from shared.runtime.jvm import java
from shared.runtime.kafka_config import client_config, spark_source_options
from shared.spark.session import CHECKPOINTS_ON_S3
from tests.harness.iam_broker import IamBroker, iam_broker
from tests.harness.lone_broker import QUICK_TO_COMPILE
from tests.harness.pod_identity import pod_identity

MSK = "iam://b-1.hifi.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"
CONFIGURATION = Path(__file__).parents[2] / "infra" / "workloads" / "base" / "spark" / "spark-defaults.conf"
CLASS = re.compile(r"\b(?:org\.apache\.(?:hadoop|kafka|spark)|software\.amazon)(?:\.\w+)+\b")
LOADER = """
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;

class Loads {
    public static void main(String[] words) throws Exception {
        var settings = new Properties();
        for (var word : words) {
            if (word.contains("=")) settings.setProperty(word.split("=", 2)[0], word.split("=", 2)[1]);
            else System.out.println(Class.forName(word).getName());
        }
        System.out.println(new ConsumerConfig(settings).getString("client.rack"));
    }
}
"""
"""Prints the given classes, and the zone in which a consumer with these settings would read."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IamBroker]:
    with iam_broker(tmp_path_factory.mktemp("iam")) as running:
        yield running


def test_the_images_jars_have_every_class_of_the_twins_settings_and_a_consumer_its_own_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the driver; the JVM below is an executor's, in another zone.
    monkeypatch.setenv("HIFI_CLIENT_RACK", "euw1-az1")
    image = lay_out(tmp_path / "image", print)
    options = spark_source_options(MSK)
    texts = [*options.values(), CONFIGURATION.read_text(), CHECKPOINTS_ON_S3]
    names = sorted({name for text in texts for name in CLASS.findall(text)})
    assert {name.rpartition(".")[2] for name in names} >= {
        "AbortableStreamBasedCheckpointFileManager",
        "EnvVarConfigProvider",
        "IAMInstanceCredentialsProvider",
        "IAMOAuthBearerLoginCallbackHandler",
        "OAuthBearerLoginModule",
    }
    source = tmp_path / "Loads.java"
    source.write_text(LOADER)
    jars = f"{image.jars}/*:{image.home}/jars/*"
    kafka = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    needed = {"key.deserializer": kafka, "value.deserializer": kafka}
    given = {name.removeprefix("kafka."): value for name, value in options.items()} | needed
    done = subprocess.run(
        [
            *(java(), QUICK_TO_COMPILE, "-XX:+UseSerialGC", "-cp", jars, source, *names),
            *(f"{name}={value}" for name, value in given.items()),
        ],
        env={**os.environ, "HIFI_CLIENT_RACK": "euw1-az2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*names, "euw1-az2"]


def _settings(broker: IamBroker) -> dict[str, object]:
    """The twin's own settings, except for the broker's address and certificate."""
    return client_config(MSK) | {
        "bootstrap.servers": broker.secured,
        "ssl.ca.location": str(broker.certificate),
    }


@pytest.mark.proof
def test_a_client_is_admitted_by_the_credentials_of_its_pod(
    broker: IamBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pod_identity(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        producer = Producer(_settings(broker))
        producer.produce("in", b"one")
        assert producer.flush(60) == 0
        consumer = Consumer(_settings(broker) | {"group.id": "test", "auto.offset.reset": "earliest"})
        consumer.subscribe(["in"])
        message = consumer.poll(60)
        assert message is not None
        assert message.value() == b"one"
        consumer.close()


@pytest.mark.proof
def test_a_client_with_other_credentials_is_refused(
    broker: IamBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDTWIN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of somebody else")
    problems: list[int] = []
    producer = Producer(
        _settings(broker) | {"error_cb": lambda error: problems.append(error.code()), "log_level": 0}
    )
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=10)
    producer.poll(0)
    assert KafkaError._AUTHENTICATION in problems
    assert "token refused" in broker.log.read_text()
