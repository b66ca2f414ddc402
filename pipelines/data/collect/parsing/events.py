"""Reads one raw event of a body. Pure."""

from pipelines.data.collect.parsing.content_types import Format
from shared.cloudevents.events import AcceptedEvent, RequestContext, read_cloudevent, wrap_json
from shared.cloudevents.refusal import Refusal


def read_event(form: Format, raw: bytes, context: RequestContext) -> AcceptedEvent | Refusal:
    """Validate one raw event; never raises, whatever a client sends."""
    read = wrap_json if form is Format.PLAIN else read_cloudevent
    return read(raw, context)
