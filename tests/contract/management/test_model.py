"""Any sequence of writes over HTTP leaves what a dictionary of versions holds."""

from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.contract.management.api_process import ANY, ApiProcess, destination

NAMES = ("a", "a.b", "b")
names = st.sampled_from(NAMES)
values = st.sampled_from([1.0, 2.0, 3.0])
TENANTS = ("acme", "zoo")
tenants = st.sampled_from(TENANTS)
named = st.tuples(tenants, names)
Named = tuple[str, str]
"""A tenant, and a name: the two share all names."""


class Model(RuleBasedStateMachine):
    """Two tenants in each example, with the same names; each document's versions, None for a deletion."""

    api: ClassVar[ApiProcess]
    runs: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Model.runs += 1
        self.suffix = f"-model-{Model.runs}"
        self.versions: dict[Named, list[float | None]] = {}

    def _root(self, tenant: str) -> str:
        return f"/v1/tenants/{tenant}{self.suffix}"

    def _path(self, named: Named) -> str:
        return f"{self._root(named[0])}/destinations/{named[1]}"

    def _at(self, named: Named) -> int:
        """The present version; 0 for none."""
        found = self.versions.get(named, [])
        return len(found) if found and found[-1] is not None else 0

    def _add(self, named: Named, value: float | None) -> None:
        versions = self.versions.setdefault(named, [])
        if (versions[-1] if versions else None) != value:
            versions.append(value)

    @rule(named=named, value=values, expected=st.integers(0, 4))
    def put(self, named: Named, value: float, expected: int) -> None:
        condition = {"If-Match": f'"{expected}"'} if expected else {"If-None-Match": "*"}
        answer = self.api.ask("PUT", self._path(named), destination(value), condition)
        at = self._at(named)
        if expected != at:
            assert answer.status == 412, answer.text
            return
        assert answer.status == (200 if at else 201), answer.text
        self._add(named, value)
        assert answer.json["version"] == len(self.versions[named])

    @rule(named=named)
    def delete(self, named: Named) -> None:
        answer = self.api.ask("DELETE", self._path(named), headers=ANY)
        assert answer.status == (204 if self._at(named) else 404), answer.text
        if self._at(named):
            self._add(named, None)

    @rule(named=named, version=st.integers(1, 4))
    def revert(self, named: Named, version: int) -> None:
        answer = self.api.ask("POST", f"{self._path(named)}/revert", {"version": version}, ANY)
        versions = self.versions.get(named, [])
        if version > len(versions):
            assert answer.status == 404, answer.text
            return
        assert answer.status == 200, answer.text
        self._add(named, versions[version - 1])

    @rule(
        tenant=tenants,
        wanted=st.dictionaries(names, st.none() | values, min_size=1),
        expected=st.integers(0, 3),
        broken=st.booleans(),
    )
    def apply(self, tenant: str, wanted: dict[str, float | None], expected: int, broken: bool) -> None:
        first = next(iter(wanted))
        documents: list[dict[str, Any]] = [
            {"kind": "destination", "name": name, **destination(value)}
            for name, value in wanted.items()
            if value is not None
        ]
        if broken:
            documents.append({"kind": "pipe", "name": "p", "source": "none", "destination": first})
        body = {
            "documents": documents,
            "delete": [{"kind": "destination", "name": name} for name, v in wanted.items() if v is None],
            "expected": {f"destination/{first}": expected},
        }
        answer = self.api.ask("POST", f"{self._root(tenant)}/apply", body)
        if expected != self._at((tenant, first)):
            assert answer.status == 412, answer.text
        elif broken:
            # the documents that the pipe names, in the same bundle
            taken_away = wanted[first] is None and self._at((tenant, first))
            assert answer.status == (409 if taken_away else 422), answer.text
        else:
            assert answer.status == 200, answer.text
            for name, value in wanted.items():
                self._add((tenant, name), value)

    @invariant()
    def the_lists_and_the_histories_are_the_models(self) -> None:
        for tenant in TENANTS:
            items = self.api.ask("GET", f"{self._root(tenant)}/destinations").json["items"]
            assert {each["document"]["name"]: each["version"] for each in items} == {
                name: self._at((tenant, name)) for name in NAMES if self._at((tenant, name))
            }
        for one, versions in self.versions.items():
            if versions:
                found = self.api.ask("GET", f"{self._path(one)}/history").json["items"]
                held = [each["document"] and each["document"]["timeout_seconds"] for each in found]
                assert held[::-1] == versions


@pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.proof)])
def test_any_sequence_of_writes_leaves_what_a_dictionary_of_versions_holds(
    api: ApiProcess, examples: int
) -> None:
    class OverHttp(Model):
        pass

    OverHttp.api = api
    chosen = settings(
        max_examples=examples, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(OverHttp, settings=chosen)
