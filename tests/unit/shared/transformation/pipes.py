"""A pipe's masks and transform, applied to events."""

from typing import Any

from pipelines.data.transmit.events import Event
from shared.contracts.documents import Pipe
from shared.contracts.masks import Mask
from shared.transformation.pipe_transform import (
    PipeTransform,
)
from tests.unit.pipelines.data.transmit.transmit_events import event


def shaped(transform: str | None, masks: list[Mask] | None = None, **fields: Any) -> Event:
    pipe = Pipe(name="p1", tenant="t", source="s", destination="d", transform=transform, masks=masks or [])
    return PipeTransform(pipe).apply(event(1, **fields), b"key")


SECRET = "S3CR3T"
