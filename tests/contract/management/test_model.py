"""Any sequence of writes over HTTP leaves what a dictionary of versions holds."""

from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.contract.management.api_process import ANY, ApiProcess, destination

NAMES = ("a", "a.b", "b")
names = st.sampled_from(NAMES)
values = st.sampled_from([1.0, 2.0, 3.0])


class Model(RuleBasedStateMachine):
    """One tenant an example; each document's versions by name, None for a deletion."""

    api: ClassVar[ApiProcess]
    runs: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Model.runs += 1
        self.tenant = f"model-{Model.runs}"
        self.root = f"/v1/tenants/{self.tenant}"
        self.versions: dict[str, list[float | None]] = {}

    def _path(self, name: str) -> str:
        return f"{self.root}/destinations/{self.tenant}.{name}"

    def _at(self, name: str) -> int:
        """The version that is there; 0 for none."""
        found = self.versions.get(name, [])
        return len(found) if found and found[-1] is not None else 0

    def _add(self, name: str, value: float | None) -> None:
        versions = self.versions.setdefault(name, [])
        if (versions[-1] if versions else None) != value:
            versions.append(value)

    @rule(name=names, value=values, expected=st.integers(0, 4))
    def put(self, name: str, value: float, expected: int) -> None:
        condition = {"If-Match": f'"{expected}"'} if expected else {"If-None-Match": "*"}
        answer = self.api.ask("PUT", self._path(name), destination(value), condition)
        at = self._at(name)
        if expected != at:
            assert answer.status == 412, answer.text
            return
        assert answer.status == (200 if at else 201), answer.text
        self._add(name, value)
        assert answer.json["version"] == len(self.versions[name])

    @rule(name=names)
    def delete(self, name: str) -> None:
        answer = self.api.ask("DELETE", self._path(name), headers=ANY)
        assert answer.status == (204 if self._at(name) else 404), answer.text
        if self._at(name):
            self._add(name, None)

    @rule(name=names, version=st.integers(1, 4))
    def revert(self, name: str, version: int) -> None:
        answer = self.api.ask("POST", f"{self._path(name)}/revert", {"version": version}, ANY)
        versions = self.versions.get(name, [])
        if version > len(versions):
            assert answer.status == 404, answer.text
            return
        assert answer.status == 200, answer.text
        self._add(name, versions[version - 1])

    @rule(
        wanted=st.dictionaries(names, st.none() | values, min_size=1),
        expected=st.integers(0, 3),
        broken=st.booleans(),
    )
    def apply(self, wanted: dict[str, float | None], expected: int, broken: bool) -> None:
        first = next(iter(wanted))
        full = {name: f"{self.tenant}.{name}" for name in wanted}
        documents: list[dict[str, Any]] = [
            {"kind": "destination", "name": full[name], **destination(value)}
            for name, value in wanted.items()
            if value is not None
        ]
        if broken:
            documents.append({"kind": "pipe", "name": "p", "source": "none", "destination": full[first]})
        body = {
            "documents": documents,
            "delete": [{"kind": "destination", "name": full[n]} for n, v in wanted.items() if v is None],
            "expected": {f"destination/{full[first]}": expected},
        }
        answer = self.api.ask("POST", f"{self.root}/apply", body)
        if expected != self._at(first):
            assert answer.status == 412, answer.text
        elif broken:
            taken_away = wanted[first] is None and self._at(first)  # what the pipe names, by the same bundle
            assert answer.status == (409 if taken_away else 422), answer.text
        else:
            assert answer.status == 200, answer.text
            for name, value in wanted.items():
                self._add(name, value)

    @invariant()
    def the_list_and_the_histories_are_the_models(self) -> None:
        items = self.api.ask("GET", f"{self.root}/destinations").json["items"]
        assert {each["document"]["name"]: each["version"] for each in items} == {
            f"{self.tenant}.{name}": self._at(name) for name in NAMES if self._at(name)
        }
        for name, versions in self.versions.items():
            if versions:
                found = self.api.ask("GET", f"{self._path(name)}/history").json["items"]
                held = [each["document"] and each["document"]["timeout_seconds"] for each in found]
                assert held[::-1] == versions


def test_any_sequence_of_writes_leaves_what_a_dictionary_of_versions_holds(api: ApiProcess) -> None:
    class OverHttp(Model):
        pass

    OverHttp.api = api
    chosen = settings(
        max_examples=25, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(OverHttp, settings=chosen)
