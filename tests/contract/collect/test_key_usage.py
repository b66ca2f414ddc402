"""collect reports which write keys are used."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from shared.contracts.documents import Source, key_digest, key_id
from shared.contracts.key_usage import KeyUse, decode
from shared.contracts.topics import Topic
from shared.kafka.tail import Tail
from shared.runtime.clock import wall_clock
from tests.contract.collect.conftest import publish
from tests.contract.collect.process import GOOD, CollectProcess
from tests.harness.waiting import eventually


@pytest.fixture
def reported(bootstrap: str) -> Iterator[list[KeyUse]]:
    """The uses of keys that are reported from now on."""
    found: list[KeyUse] = []
    tail = Tail(
        bootstrap=bootstrap,
        client_id="test",
        topic=Topic.KEY_USAGE,
        window_ms=0,
        take=lambda messages: found.extend(each for m in messages for each in decode(m.value() or b"")),
    )
    tail.start()
    assert tail.wait(60)
    found.clear()
    yield found
    tail.stop()


def test_a_key_that_is_used_again_and_again_is_reported_once_a_minute(
    collect: CollectProcess, bootstrap: str, reported: list[KeyUse]
) -> None:
    name = f"s{uuid4().hex[:8]}"
    first, second = f"first-key-of-{name}", f"second-key-of-{name}"
    publish(bootstrap, Source(name=name, tenant="acme", write_keys=[first, second]))
    began = wall_clock()
    eventually(lambda: collect.post(GOOD, key=first).status == 202)
    assert collect.post(GOOD, key=first).status == 202
    assert collect.post(GOOD, key=f"unknown-{name}").status == 401
    eventually(lambda: any(each.source == name for each in reported))
    assert collect.post(GOOD, key=first).status == 202
    assert collect.post(GOOD, key=second).status == 202
    eventually(lambda: len({each.key_id for each in reported if each.source == name}) == 2)
    found = [each for each in reported if each.source == name]
    assert [(each.tenant, each.key_id) for each in found] == [
        ("acme", key_id(key_digest(key))) for key in (first, second)
    ]
    assert all(began <= each.at_ms <= wall_clock() for each in found)
    assert not any(first in repr(each) or key_digest(first) in repr(each) for each in reported)
