"""Ports and addresses of a local side."""

from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.1"
BROKER_IDS: Final = (1, 2, 3)
PORTS: Final = 21
"""Number of ports of a side, from its base on."""

DEFAULT_PORT: Final = 8080


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Ports from `port` on.

    In this order: collect (the base); three brokers; three controllers; the warm-up's destination; retry;
    observe; console; the store of documents and scorecards; canary; metrics of Spark; metrics of trace; the
    provisioner; the management API; metrics of a second Spark driver; the destination of rehearsals; Spark's
    master, and its state.
    """

    port: int = DEFAULT_PORT

    @property
    def collect_port(self) -> int:
        """HTTP port of collect."""
        return self.port

    @property
    def collect_url(self) -> str:
        """Base URL of collect."""
        return f"http://{HOST}:{self.collect_port}"

    def broker_port(self, broker: int) -> int:
        """Kafka port of broker 1, 2 or 3."""
        return self.port + broker

    def controller_port(self, broker: int) -> int:
        """KRaft port of broker 1, 2 or 3."""
        return self.port + len(BROKER_IDS) + broker

    @property
    def sink_port(self) -> int:
        """Port of the warm-up's destination."""
        return self.port + 2 * len(BROKER_IDS) + 1

    @property
    def retry_port(self) -> int:
        """HTTP port of retry's health and metrics."""
        return self.sink_port + 1

    @property
    def observe_port(self) -> int:
        """HTTP port of observe's API."""
        return self.retry_port + 1

    @property
    def observe_url(self) -> str:
        """Base URL of observe's API."""
        return f"http://{HOST}:{self.observe_port}"

    @property
    def console_port(self) -> int:
        """HTTP port of the console."""
        return self.observe_port + 1

    @property
    def console_url(self) -> str:
        """The console's address, for a browser."""
        return f"http://{HOST}:{self.console_port}"

    @property
    def store_port(self) -> int:
        """HTTP port of the store of documents and observe's scorecards: DynamoDB Local."""
        return self.console_port + 1

    @property
    def canary_port(self) -> int:
        """HTTP port of the canary: its destination, health and metrics."""
        return self.store_port + 1

    @property
    def canary_url(self) -> str:
        """Base URL of the canary."""
        return f"http://{HOST}:{self.canary_port}"

    @property
    def spark_port(self) -> int:
        """HTTP port of the Spark driver's health and metrics."""
        return self.canary_port + 1

    @property
    def spark_url(self) -> str:
        """Base URL of the Spark driver's health and metrics."""
        return f"http://{HOST}:{self.spark_port}"

    @property
    def trace_port(self) -> int:
        """HTTP port of trace's health and metrics."""
        return self.spark_port + 1

    @property
    def provision_port(self) -> int:
        """HTTP port of the provisioner's health and metrics."""
        return self.trace_port + 1

    @property
    def api_port(self) -> int:
        """HTTP port of the management API."""
        return self.provision_port + 1

    @property
    def api_url(self) -> str:
        """URL of the management API."""
        return f"http://{HOST}:{self.api_port}"

    @property
    def standby_port(self) -> int:
        """HTTP port of the second Spark driver's health and metrics."""
        return self.api_port + 1

    @property
    def rehearsal_port(self) -> int:
        """Port of the destination of a waiting driver's rehearsal."""
        return self.standby_port + 1

    @property
    def master_port(self) -> int:
        """Port of Spark's master, for drivers and workers."""
        return self.rehearsal_port + 1

    @property
    def master_state_port(self) -> int:
        """HTTP port of the master's page, and of its state as JSON."""
        return self.master_port + 1

    @property
    def ports(self) -> range:
        """Every port of the side."""
        return range(self.port, self.port + PORTS)

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers."""
        return ",".join(f"{HOST}:{self.broker_port(broker)}" for broker in BROKER_IDS)
