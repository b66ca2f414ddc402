"""A destination's document changes while requests to it are in flight."""

import asyncio

from pipelines.data.transmit.delivery.request_batch import Group
from shared.contracts.documents import Batch, Destination, Limits
from tests.unit.pipelines.data.transmit.slow_lane import CONNECTOR, TENANT, Far, SlowLane, documents
from tests.unit.pipelines.data.transmit.transmit_events import event
from tests.unit.pipelines.data.transmit.virtual_time import run

GROUP = Group(TENANT, "changed", 1)


def version(requests: int) -> Destination:
    return Destination(
        name="changed",
        tenant=TENANT,
        connector=CONNECTOR,
        options={},
        batch=Batch(max_events=1),
        limits=Limits(requests=requests),
    )


def test_requests_of_the_older_version_leave_the_slots_of_the_newer_one_as_they_are() -> None:
    async def scene() -> None:
        far = Far({"changed": lambda: 0.3})
        lane = SlowLane(far, version(1))
        delivery = lane.delivery()

        def send(first: int) -> asyncio.Task[None]:
            events = [event(number, pipe="changed") for number in range(first, first + 6)]
            return asyncio.create_task(delivery.deliver(GROUP, events))

        sent = [send(0)]
        await asyncio.sleep(0.1)
        lane.catalogue = documents(version(2))
        for first in (10, 20, 30):
            sent.append(send(first))
            await asyncio.sleep(0.4)
        await asyncio.gather(*sent)
        assert far.most["changed"] == 3, "one of the older version, two of the newer one"

    run(scene())
