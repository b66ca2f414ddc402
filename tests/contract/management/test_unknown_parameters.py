"""Undeclared query parameters are refused: a misspelt one would change the result."""

import re

from tests.contract.management.api_process import ANY, NEW, ApiProcess, destination

METHODS = ("get", "put", "post", "delete")


def test_a_misspelt_dry_run_writes_nothing_and_names_the_right_spelling(api: ApiProcess) -> None:
    path = "/v1/tenants/dry/destinations/dry.d"
    refused = api.ask("PUT", f"{path}?dryrun=true", destination(), NEW)
    assert refused.status == 400, refused.text
    assert refused.json["detail"] == "dryrun: this route has no such parameter; did you mean 'dry_run'?"
    assert api.ask("GET", path).status == 404
    assert api.ask("PUT", path, destination(), NEW).status == 201
    assert api.ask("DELETE", f"{path}?Dry-Run=true", headers=ANY).status == 400
    assert api.ask("GET", path).status == 200


def test_a_parameter_that_is_given_twice_writes_nothing(api: ApiProcess) -> None:
    path = "/v1/tenants/dry/destinations/dry.twice"
    refused = api.ask("PUT", f"{path}?dry_run=true&dry_run=false", destination(), NEW)
    assert (refused.status, refused.json["detail"]) == (
        400,
        "dry_run: it is given more than once; give it once",
    )
    assert api.ask("GET", path).status == 404


def test_a_route_without_parameters_says_so_and_one_with_others_lists_them(api: ApiProcess) -> None:
    none = api.ask("GET", "/v1/whoami?x=1")
    assert (none.status, "it takes none" in none.json["detail"]) == (400, True), none.text
    listed = api.ask("GET", "/v1/tenants/dry/destinations?page=2")
    assert (listed.status, "known: limit, cursor" in listed.json["detail"]) == (400, True), listed.text


def test_every_route_refuses_a_parameter_that_it_does_not_declare(api: ApiProcess) -> None:
    described = api.ask("GET", "/openapi.json").json["paths"]
    asked = [
        (method.upper(), re.sub(r"\{[^}]*\}", "0", path.replace("{kind}", "sources")))
        for path, operations in described.items()
        if path.startswith("/v1/")
        for method in METHODS
        if method in operations
    ]
    assert len(asked) > 40
    answers = {(method, path): api.ask(method, f"{path}?zzz=1", {}) for method, path in asked}
    passed = {asked: each.status for asked, each in answers.items() if "zzz: " not in each.text}
    assert not passed


def test_who_may_not_ask_learns_that_first(api: ApiProcess) -> None:
    assert api.ask("GET", "/v1/whoami?x=1", token=None).status == 401
    assert api.ask("GET", "/v1/tenants?x=1", token=api.token("dry", "viewer")).status == 403


def test_redeeming_with_the_invitation_as_bearer_refuses_them_and_uses_nothing_up(api: ApiProcess) -> None:
    asked = {"role": "viewer", "label": "ann"}
    text = api.ask("POST", "/v1/tenants/dry/invitations", asked).json["invitation"]
    assert api.ask("POST", "/v1/invitations/redeem?dry_run=true", {}, token=text).status == 400
    assert api.ask("POST", "/v1/invitations/redeem", {}, token=text).status == 201
