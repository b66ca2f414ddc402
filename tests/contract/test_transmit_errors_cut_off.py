"""An error's status decides even if its body is cut off, except for AWS's 400."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import pytest

from pipelines.data.transmit.connectors.http import client
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.connectors.conformance import reasons
from tests.contract.connectors.http_far import Everywhere
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.local_aws import REGION
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

AWS: Final = {"region": REGION, "access_key_id": "AKIAEXAMPLE", "secret_access_key": "secret://t/aws"}
OPTIONS: Final[Mapping[str, dict[str, Any]]] = {
    "s3": {"bucket": "events", **AWS},
    "kinesis": {"stream": "events", **AWS},
    "elasticsearch": {"index": "events"},
}


def cut_off(rig: Rig, connector: str, status: int, headers: str = "", *, hangs: bool = False) -> None:
    """Make the server send one of a hundred body bytes, and then close the connection or keep it open."""

    async def manner(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 100\r\n{headers}\r\n<".encode())
        await writer.drain()
        if not hangs:
            writer.close()

    rig.server.manners = Everywhere(manner)
    rig.secrets.values = {"secret://t/aws": "a-secret-access-key"}
    at = "url" if connector == "elasticsearch" else "endpoint"
    address = f"http://127.0.0.1:{rig.server.port}"
    rig.lead("p1", connector, {**OPTIONS[connector], at: address}, timeout_seconds=2 * AMPLE)


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("connector", OPTIONS)
def test_a_refusal_is_one_although_its_body_is_cut_off(rig: Rig, connector: str, hangs: bool) -> None:
    cut_off(rig, connector, 403, hangs=hangs)
    rows = rig.deliver(flat_batch([row(1)]))
    assert [record.topic for record in records(rows)] == [Topic.DEAD_LETTER]
    assert reasons(rows) == ["refused: the destination answered 403"]
    assert len(rig.server.heads) == 1


@pytest.mark.parametrize("connector", OPTIONS)
def test_retry_after_is_obeyed_although_the_body_is_cut_off(rig: Rig, connector: str) -> None:
    cut_off(rig, connector, 503, "Retry-After: 60\r\n")
    (later,) = records(rig.deliver(flat_batch([row(1)])))
    assert (later.topic, dict(later.headers)[h.STATUS]) == (Topic.RETRY_IN_5M, b"503")
    assert len(rig.server.heads) == 1


@pytest.mark.parametrize("connector", ["kinesis", "elasticsearch"])
def test_a_status_counts_although_the_fast_lane_does_not_wait_for_the_body(
    patient: Rig, connector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for s3, which waits for several objects: repeating one does no harm there."""
    monkeypatch.setattr(client, "DRAIN_SECONDS", AMPLE)
    cut_off(patient, connector, 403, hangs=True)
    rows = patient.deliver(flat_batch([row(1)]))
    assert [record.topic for record in records(rows)] == [Topic.DEAD_LETTER]
    assert len(patient.server.heads) == 1


@pytest.mark.parametrize("connector", ["s3", "kinesis"])
def test_a_400_of_aws_without_its_code_is_no_refusal(rig: Rig, connector: str) -> None:
    """It may be `ThrottlingException` or `RequestTimeout`."""
    cut_off(rig, connector, 400)
    rows = rig.deliver(flat_batch([row(1)]))
    assert [receipt.result for receipt in receipts(rows)] == ["retry"]
    assert reasons(rows) == ["unreachable: the answer broke off before AWS's error code"]


@pytest.mark.parametrize("connector", OPTIONS)
def test_a_success_whose_body_is_cut_off_is_none(rig: Rig, connector: str) -> None:
    cut_off(rig, connector, 200)
    assert [receipt.result for receipt in receipts(rig.deliver(flat_batch([row(1)])))] == ["retry"]
