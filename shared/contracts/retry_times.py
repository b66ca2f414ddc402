"""When a record of a retry topic is due: retry sends it on then, and observe expects that. Pure."""

from shared.contracts.topics import RETRY_DELAYS, Topic


def delay_ms(topic: Topic) -> int:
    """The longest that a record waits in a topic, in milliseconds."""
    return int(RETRY_DELAYS[topic].total_seconds() * 1000)


def due_ms(topic: Topic, not_before_ms: int, written_ms: int, now_ms: int) -> int:
    """When a record may leave, epoch milliseconds.

    No record waits longer than its topic's delay: one with a later time in its header must not delay those
    behind it, nor must a clock that was set back.

    Args:
        topic: where it waits.
        not_before_ms: its own header.
        written_ms: its Kafka timestamp.
        now_ms: now, epoch milliseconds.
    """
    delay = delay_ms(topic)
    return min(not_before_ms, written_ms + delay, now_ms + delay)
