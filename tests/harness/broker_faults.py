"""All brokers of a cluster killed at once, and the wait until they are back and healthy."""

from contextlib import suppress

from scripts.local.addresses import BROKER_IDS
from scripts.local.kafka.cluster import Cluster
from shared.kafka.admin import wait_for_brokers, wait_in_sync


def kill_all(cluster: Cluster) -> None:
    """SIGKILL the brokers that run: nothing that they have is needed any more."""
    for broker in BROKER_IDS:
        with suppress(KeyError):  # of one that does not run
            cluster.kill(broker)


def wait_healthy(cluster: Cluster, seconds: float = 180.0) -> None:
    """Wait until all brokers answer and all replicas are in sync.

    Raises:
        AdminError: if that takes longer.
    """
    wait_for_brokers(cluster.bootstrap, seconds=seconds)
    wait_in_sync(cluster.bootstrap, seconds)
