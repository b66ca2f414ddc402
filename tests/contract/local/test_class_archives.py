"""`make setup` makes the archives of classes. Sides start without them: only this test misses one."""

import pytest

from scripts.local.class_archives import missing_archives
from scripts.local.jars import ensure_jars


@pytest.mark.proof
def test_set_up_made_an_archive_for_the_brokers_and_for_spark() -> None:
    assert missing_archives(ensure_jars(print)) == []
