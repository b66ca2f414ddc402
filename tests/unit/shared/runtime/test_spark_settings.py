"""Spark settings that would lose events, or let none leave, are refused at the start."""

import pytest
from pydantic import ValidationError

from pipelines.data.transmit.settings import LEAST_DEADLINE_SECONDS, TransmitSettings

REQUIRED = {"bootstrap": "127.0.0.1:1", "checkpoints": "/nowhere", "jars": "/nowhere"}


@pytest.mark.parametrize("text", ["1 second", "3 seconds", "10 seconds"])
def test_a_batch_of_route_is_some_seconds_long(text: str) -> None:
    assert TransmitSettings.model_validate({**REQUIRED, "route_batch": text}).route_batch == text


@pytest.mark.parametrize("text", ["11 seconds", "0 seconds", "1 minute", "250 milliseconds", "3"])
def test_a_longer_one_is_refused_since_new_pipes_would_miss_first_events(text: str) -> None:
    with pytest.raises(ValidationError, match="route_batch: give whole seconds"):
        TransmitSettings.model_validate({**REQUIRED, "route_batch": text})


def test_a_deadline_by_which_no_request_would_start_is_refused() -> None:
    with pytest.raises(ValidationError, match="deadline_seconds"):
        TransmitSettings.model_validate({**REQUIRED, "deadline_seconds": LEAST_DEADLINE_SECONDS - 0.1})
    TransmitSettings.model_validate({**REQUIRED, "deadline_seconds": LEAST_DEADLINE_SECONDS})
