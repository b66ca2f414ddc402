"""hifi's login to a customer's cluster."""

import asyncio

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.kafka.connector import Kafka
from shared.connectors.kafka import Options, Sasl
from shared.contracts.documents import Destination
from tests.contract.transmit_rig import Held
from tests.harness.scripted_kafka import ScriptedKafka
from tests.unit.pipelines.data.transmit.connectors.kafka_context import kafka_context
from tests.unit.pipelines.data.transmit.transmit_events import event


def test_the_line_break_at_the_end_of_a_secret_is_not_in_the_password() -> None:
    cluster, held = ScriptedKafka(), Held()
    held.values = {"secret://acme/kafka": "pass word\n"}
    sasl = Sasl(mechanism="PLAIN", username="hifi", password="secret://acme/kafka")
    options = Options(bootstrap_servers=[f"127.0.0.1:{cluster.port}"], topic="orders", tls=False, sasl=sasl)

    async def sent() -> Answer:
        kafka = Kafka(kafka_context(held))
        destination = Destination(name="d", tenant="acme", connector="kafka")
        (answer,) = await kafka.send(destination, options, [event()], 60)
        await kafka.close()
        return answer

    assert asyncio.run(sent()) == Answer(status=200)
    assert set(cluster.logins) == {("hifi", "pass word")}
    cluster.close()
