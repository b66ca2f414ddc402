"""Turns Kafka's errors into errors that the command line prints."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException

from shared.runtime.errors import OperatorError


class KafkaUnavailableError(OperatorError):
    """The brokers did not answer, or refused a request."""


@contextmanager
def kafka_errors_explained(bootstrap: str) -> Iterator[None]:
    """Add the brokers' addresses to errors raised in the block.

    Raises:
        KafkaUnavailableError: in place of KafkaException and TimeoutError.
    """
    try:
        yield
    except KafkaException as error:
        raise _unavailable(bootstrap, error.args[0].str()) from error
    except TimeoutError as error:
        raise _unavailable(bootstrap, str(error)) from error


def _unavailable(bootstrap: str, cause: str) -> KafkaUnavailableError:
    return KafkaUnavailableError(f"Kafka at {bootstrap}: {cause}", "`hifi doctor` shows which brokers answer")
