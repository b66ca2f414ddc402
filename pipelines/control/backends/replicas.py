"""Replicas that are not in sync: a side's brokers are being patched, or were stopped."""

from collections.abc import Sequence

from pipelines.control.deploy.backend import Obstacle
from shared.kafka.admin import admin_client, out_of_sync


def unsynced(bootstrap: str, side: str) -> Sequence[Obstacle]:
    """The obstacle that replicas of a side are not in sync, which passes by itself; empty if all are.

    Raises:
        KafkaException: if no broker answers.
    """
    behind = out_of_sync(admin_client(bootstrap))
    text = f"replicas of {len(behind)} partitions of {side} are not in sync"
    return [Obstacle(text=text, lasting=False)] if behind else []
