"""The gates of a process's destinations."""

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy
from shared.contracts.documents import Destination


def test_a_destination_in_use_keeps_its_gate_while_others_come_and_go() -> None:
    admission = Admission(AdmissionPolicy(lane="fast"), lambda: 0, lambda: 0.0)
    steady = Destination(name="steady", tenant="acme")
    gate = admission.of(steady)
    for number in range(25_000):
        admission.of(Destination(name=f"run-{number}", tenant="acme"))
        assert admission.of(steady) is gate
