"""Settings that would undo every release are refused at the start."""

import pytest
from pydantic import ValidationError

from pipelines.control.deploy.settings import DeploySettings

BACKEND = "scripts.local.twins.backend:local_backend"


@pytest.mark.parametrize("name", ["watch_minutes", "half_minutes"])
def test_a_version_has_time_for_the_minutes_that_it_needs(name: str) -> None:
    assert DeploySettings.model_validate({"backend": BACKEND, name: 29})
    with pytest.raises(ValidationError, match=f"HIFI_{name.upper()} is 30, .* HIFI_WATCH_SECONDS"):
        DeploySettings.model_validate({"backend": BACKEND, name: 30})
