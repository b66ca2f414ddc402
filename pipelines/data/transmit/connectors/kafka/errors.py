"""Converts errors of a cluster to answers, with HTTP statuses where there are any."""

from typing import Final

from confluent_kafka import KafkaError, KafkaException

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import clean
from pipelines.data.transmit.connectors.kafka.brokers import NeedsTlsError, TooManyBrokersError
from shared.runtime.egress import RefusedAddressError

DENIED: Final = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)
_STATUSES: Final = {
    KafkaError._AUTHENTICATION: 401,
    KafkaError.SASL_AUTHENTICATION_FAILED: 401,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: 403,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: 403,
    KafkaError.TOPIC_EXCEPTION: 404,
    KafkaError.MSG_SIZE_TOO_LARGE: 413,
    KafkaError.RECORD_LIST_TOO_LARGE: 413,
    KafkaError.INVALID_RECORD: 400,
    KafkaError.POLICY_VIOLATION: 400,
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: 400,
    KafkaError.THROTTLING_QUOTA_EXCEEDED: 429,
    KafkaError.NOT_ENOUGH_REPLICAS: 503,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: 503,
}
"""Nearest HTTP statuses, so that `decide` works for all connectors alike."""

TOO_LARGE: Final = 413
_UNKNOWN: Final = (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
"""Brokers also return these for a topic that was just created."""

TIMEOUTS: Final = (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT)


def answer_of(error: KafkaError) -> Answer:
    """The answer for a Kafka error. Its text may contain addresses, so only its name is used."""
    if error.code() in _UNKNOWN:
        return Answer(error="unknown_topic: the cluster has no such topic; create it", later=True)
    status = _STATUSES.get(error.code())
    if status is not None:
        return Answer(status=status, detail=error.name())
    return Answer(error=f"unreachable: the cluster cannot be reached: {error.name()}")


def failure_of(error: Exception, silence: Answer) -> Answer:
    """The answer for an exception; `silence` is the one if a cluster does not answer."""
    match error:
        case RefusedAddressError():
            return Answer(error=f"refused_address: `bootstrap_servers` {error}", hopeless=True)
        case NeedsTlsError() | TooManyBrokersError():
            return Answer(error=str(error), hopeless=True)
        case BufferError():
            return Answer(error="busy: too many events are waiting for this cluster", later=True)
        case KafkaException() if error.args[0].code() not in TIMEOUTS:
            return answer_of(error.args[0])
        case TimeoutError() | KafkaException():
            return silence
    return Answer(error=clean(f"unreachable: {type(error).__name__}: {error}"))
