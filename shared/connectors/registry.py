"""The connectors by name, and the decoding of a destination's options. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shared.connectors import elasticsearch, kafka, kinesis, s3, webhook
from shared.connectors.spec import ConnectorSpec
from shared.contracts.documents import Destination
from shared.contracts.secrets import foreign_secrets

SPECS: Final[Mapping[str, ConnectorSpec[Any]]] = {
    "elasticsearch": elasticsearch.SPEC,
    "kafka": kafka.SPEC,
    "kinesis": kinesis.SPEC,
    "s3": s3.SPEC,
    "webhook": webhook.SPEC,
}
"""Every connector that a destination may name."""


class OptionsError(ValueError):
    """The options of a destination cannot be used. The text is a word, a colon and a sentence."""


def options_of(destination: Destination, spec: ConnectorSpec[Any] | None) -> Any:
    """A destination's options, decoded for its connector; unknown fields are ignored.

    Args:
        destination: the document.
        spec: of the connector that it names; None if there is none of that name.

    Raises:
        OptionsError: if the connector is unknown, refuses them, or they name another tenant's secret.
    """
    if spec is None:
        raise OptionsError(f"unknown_connector: there is no connector {destination.connector!r}")
    for path, reference in foreign_secrets(destination.tenant, destination.options):
        raise OptionsError(
            f"foreign_secret: options{path} names {reference}, which belongs to another tenant"
        )
    try:
        return msgspec.convert(destination.options, spec.options)
    except msgspec.ValidationError as error:
        raise OptionsError(f"bad_options: the {destination.connector} connector: {error}") from error
