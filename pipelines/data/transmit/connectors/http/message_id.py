"""What a webhook's signature calls the message that it signs. Pure."""

import hashlib
from collections.abc import Sequence

from pipelines.data.transmit.events import Event


def message_id(events: Sequence[Event]) -> str:
    """The same for the same events, in whichever request they are sent again, and for no others."""
    return "msg_" + hashlib.sha256(b"".join([event.key for event in events])).hexdigest()[:32]
