"""Alarm rule for watched fields that differ from the days before, for the customer alone. Pure."""

from collections.abc import Iterator

from pipelines.control.observe.alarms.formatting import counted
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.documents import Catalogue
from shared.contracts.skew import FieldSkew, SkewState


def skewed(inputs: Inputs, catalogue: Catalogue) -> Iterator[Finding]:
    """One finding for each skewed field that its pipe still watches."""
    for each in inputs.skews or ():
        if each.state is SkewState.SKEWED and _watches(catalogue, each):
            yield Finding(
                kind=AlarmKind.SKEW,
                audience=Audience.CUSTOMER,
                tenant=each.tenant,
                subject=f"{each.pipe} {each.field}",
                text=_text(each),
                document=f"pipe/{each.pipe}",
            )


def _watches(catalogue: Catalogue, each: FieldSkew) -> bool:
    pipe = catalogue.pipes.get((each.tenant, each.pipe))
    return pipe is not None and any(
        (watch.field, watch.kind) == (each.field, each.kind) for watch in pipe.watch
    )


def _text(each: FieldSkew) -> str:
    return (
        f"field {each.field} of pipe {each.pipe} differs from the same hour of the "
        f"{counted(each.days, 'day')} before: {'; '.join(each.changes)}"
    )
