"""Asks before a replay, and says what became of it."""

from collections.abc import Sequence

from nicegui import ui

from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.formatting import counted
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.frame import agreed
from pipelines.management.console.pages.visit import Visit, refusal


async def replayed(visit: Visit, letters: Sequence[str]) -> bool:
    """Replay dead letters if the person agrees; whether it was done."""
    try:
        plan = await visit.allowed(visit.account.replay(visit.tenant, letters, dry_run=True))
        if not plan.matching:
            ui.notify("All of these were replayed before.", type="warning")
            return False
        before = f" {plan.replayed_before} were replayed before." if plan.replayed_before else ""
        text = f"Their events are sent once more, with 24 hours of retries.{before}"
        if not await agreed(f"Replay {counted(plan.matching, 'dead letter')}?", text, "Replay"):
            return False
        done = await visit.allowed(visit.account.replay(visit.tenant, letters, dry_run=False))
    except ProblemError as error:
        ui.notify(refusal(error), type="negative", timeout=8_000)
        return False
    except UnreachableError as error:
        ui.notify(str(error), type="negative", timeout=8_000)
        return False
    ui.notify(f"{counted(done.replayed, 'dead letter')} replayed.", type="positive")
    return True
