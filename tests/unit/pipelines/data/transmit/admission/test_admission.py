"""The gates of a process's destinations."""

import asyncio
from contextlib import AsyncExitStack

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy, NoTurn
from shared.contracts.documents import Destination


def test_a_destination_in_use_keeps_its_gate_while_others_come_and_go() -> None:
    admission = Admission(AdmissionPolicy(lane="fast"), lambda: 0, lambda: 0.0)
    steady = Destination(name="steady", tenant="acme")
    gate = admission.of(steady)
    for number in range(25_000):
        admission.of(Destination(name=f"run-{number}", tenant="acme"))
        assert admission.of(steady) is gate


def test_a_tenant_without_a_share_left_gets_no_turn_and_another_gets_one_at_once() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        admission = Admission(AdmissionPolicy(lane="slow", requests=4), lambda: 0, loop.time)
        hanging, own, other = (
            admission.of(Destination(name=name, tenant=tenant))
            for name, tenant in (("hanging", "acme"), ("own", "acme"), ("other", "globex"))
        )
        async with AsyncExitStack() as held:
            for _ in range(2):  # half of all
                assert await held.enter_async_context(hanging.turn(1, loop.time() + 60, 0)) is None
            async with own.turn(1, loop.time() + 0.05, 0) as refusal:
                assert refusal == NoTurn()
            async with other.turn(1, loop.time() + 60, 0) as refusal:
                assert refusal is None
            assert own.breaker.state == "closed"
        async with own.turn(1, loop.time() + 60, 0) as refusal:
            assert refusal is None, "those that hung have ended"

    asyncio.run(run())
