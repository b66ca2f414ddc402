"""The published documents, as nodes read them."""

import logging
from typing import Final

from shared.contracts.documents import Catalogue
from shared.kafka import config_topic
from shared.kafka.errors import kafka_errors_explained

_CLIENT: Final = "hifi-cli"
_READ_SECONDS: Final = 15.0


def read_catalogue(bootstrap: str) -> Catalogue:
    """All documents that are published now.

    Raises:
        KafkaUnavailableError: if the topic cannot be read.
    """
    logging.getLogger("shared.kafka").addHandler(logging.NullHandler())
    with kafka_errors_explained(bootstrap):
        return config_topic.read_catalogue(bootstrap, _CLIENT, _READ_SECONDS)
