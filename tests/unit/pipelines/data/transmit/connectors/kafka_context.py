"""What a connector to Kafka is given: it needs no session and no threads of others."""

from concurrent.futures import Executor
from typing import cast

import aiohttp

from pipelines.data.transmit.connectors.base import ConnectorContext
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.secrets import Secrets

NO_SECRETS = cast(Secrets, None)


def kafka_context(secrets: Secrets = NO_SECRETS) -> ConnectorContext:
    """It may connect to the loopback. Made on a running loop."""
    return ConnectorContext(
        session=cast(aiohttp.ClientSession, None),
        secrets=secrets,
        egress=EgressPolicy(loopback=True),
        resolver=aiohttp.ThreadedResolver(),
        threads=cast(Executor, None),
        clock=lambda: 0,
    )
