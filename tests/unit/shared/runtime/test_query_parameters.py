"""A request's query parameters are accepted as described, or refused by name."""

from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.testclient import TestClient

from shared.runtime.query_parameters import parameter_problem


def refuse(request: Request) -> None:
    said = parameter_problem(request)
    if said is not None:
        raise HTTPException(400, said)


def asked(query: str) -> Any:
    app = FastAPI()

    @app.get("/", dependencies=[Depends(refuse)])
    def found(
        dry_run: Annotated[str | None, Query()] = None,
        names: Annotated[list[str] | None, Query()] = None,
        kinds: Annotated[list[str], Query()] = [],  # noqa: B006  # FastAPI copies it
    ) -> list[Any]:
        return [dry_run, names, kinds]

    with TestClient(app) as http:
        return http.get(f"/?{query}")


@pytest.mark.parametrize("query", ["dry_run=true&dry_run=false", "dry_run=true&names=a&dry_run=true"])
def test_a_parameter_that_is_given_twice_is_refused_by_its_name(query: str) -> None:
    answer = asked(query)
    assert answer.status_code == 400
    assert answer.json()["detail"] == "dry_run: it is given more than once; give it once"


def test_a_list_takes_several_values() -> None:
    assert asked("names=a&names=b&kinds=x&kinds=y&dry_run=true").json() == ["true", ["a", "b"], ["x", "y"]]


def test_an_unknown_parameter_is_refused_with_the_nearest_one() -> None:
    assert asked("dryrun=true").json()["detail"].startswith("dryrun: this route has no such parameter")
