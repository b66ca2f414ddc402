"""Problems in a destination's options are reported with line, field and fix, without secrets."""

from pathlib import Path

import pytest

from scripts.documents.files import read_documents
from scripts.documents.text import in_short
from shared.contracts.documents import Destination
from shared.documents.problems import ProblemsError

HEAD = "kind: destination\nname: hook\ntenant: acme\noptions:\n  url: https://example.com/hook\n"
FIX = "; {type: bearer, token: secret://..}, {type: basic, "
PLAIN = "hunter2-hunter2"


def applied(tmp_path: Path, text: str) -> list[str]:
    """The problems of a document with this text below `options:`; none if it is accepted."""
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + text)
    try:
        read_documents([path])
    except ProblemsError as error:
        return [str(each).replace(str(path), "f") for each in error.problems]
    return []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "  format: lines\n",
            "f:6: $.options.format: Invalid enum value 'lines'; one of batch, array, ndjson",
        ),
        ("  auth: {type: digest}\n", f"f:6: $.options.auth.type: Invalid value 'digest'{FIX}"),
        (
            f"  auth: {{type: bearer, token: {PLAIN}}}\n",
            f"f:6: $.options.auth.token: is not allowed here{FIX}",
        ),
        ("  auth:\n    type: bearer\n", f"f:6: $.options.auth: lacks the field token{FIX}"),
        (
            "  auth:\n    type: bearer\n    tokn: a\n    token: secret://acme/a\n",
            "f:8: $.options.auth.tokn: auth has no field 'tokn'",
        ),
        (
            "  auth: {type: basic, username: 'a:b', password: secret://acme/a}\n",
            f"f:6: $.options.auth.username: is not allowed here{FIX}",
        ),
        ("  signing: {keys: []}\n", "f:6: $.options.signing.keys: Expected list of length >= 1; for example"),
        (
            f"  signing:\n    keys:\n    - secret://acme/a\n    - {PLAIN}\n",
            "f:9: $.options.signing.keys[1]: is not allowed here; for example {keys: [secret://shop/webhook]}",
        ),
        (
            f"  headers:\n    Authorization: {PLAIN}\n",
            "f:7: $.options.headers.Authorization: is a secret; name it: secret://shop/authorization, or use",
        ),
        (f"  headers:\n    cookie: {PLAIN}\n", "f:7: $.options.headers.cookie: is a secret"),
        (
            "  signing: {keys: [secret://acme/a, secret://acme.com/b]}\n",
            "f:6: $.options.signing.keys[1]: names secret://acme.com/b, which is not its tenant's; a",
        ),
        ("  headers: {X-Key: 'secret://A b'}\n", "f:6: $.options.headers.X-Key: is not the name of a secret"),
        (
            "  headers: {authorization: secret://acme/a}\n  auth: {type: bearer, token: secret://acme/b}\n",
            "f:6: $.options.headers.authorization: is set by `auth` too",
        ),
        (
            "  headers: {Webhook-Id: a}\n  signing: {keys: [secret://acme/a]}\n",
            "f:6: $.options.headers.Webhook-Id: is set by `signing`",
        ),
        (
            f"connector: webhook\n---\n{HEAD}".replace("hook\n", "hook2\n").replace("//", f"//user:{PLAIN}@"),
            "f:12: $.options.url: holds a password; name it in `auth`",
        ),
        ("connector: 7\n", "f:6: $.connector: "),
        ("connector: base\n", "f:6: $.connector: unknown connector 'base'"),
    ],
)
def test_a_problem_is_said_with_its_line_and_fix(tmp_path: Path, text: str, said: str) -> None:
    found = applied(tmp_path, text)
    assert any(line.startswith(said) for line in found), found
    assert PLAIN not in "".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  format: event\n  headers: {X-Key: secret://acme/key, Authorization: secret://acme/header}\n",
        "  auth: {type: basic, username: a, password: secret://acme/pw}\n",
        "  auth: {type: oauth2, token_url: https://idp.example.com, client_id: a, client_secret: secret://acme/b}\n"
        "  signing: {keys: [secret://acme/new, secret://acme/old]}\n",
    ],
)
def test_options_that_the_connector_knows_are_accepted(tmp_path: Path, text: str) -> None:
    assert applied(tmp_path, text) == []


def test_a_destination_is_shown_in_short_whether_its_connector_is_known_or_not() -> None:
    known = Destination(name="a", tenant="t", options={"url": "https://example.com/hook"})
    assert in_short(known) == "webhook https://example.com/hook"
    assert in_short(Destination(name="a", tenant="t", connector="fax", options={"number": 7})) == "fax"
