"""An API refusal is shown at its place in the user's file."""

from pathlib import Path

import pytest

from scripts.documents.files import read_documents
from scripts.documents.refusals import field_path, located
from shared.contracts.api_answers.problems import FieldError

TEXT = """\
kind: pipe
name: p
tenant: acme
source: s
destination: d
match:
  data:
    n: [1, 2]
"""


@pytest.mark.parametrize(
    ("pointer", "path"),
    [("", "$"), ("/source", "$.source"), ("/match/data/n/1", "$.match.data.n[1]"), ("/a~1b~0c", "$.a/b~c")],
)
def test_a_json_pointer_is_said_as_a_path(pointer: str, path: str) -> None:
    assert field_path(pointer) == path


def test_a_refused_field_has_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(TEXT)
    refused = [
        FieldError(document="pipe/p", pointer="/source", detail="there is no source 's'"),
        FieldError(document="pipe/p", pointer="/match/data/n", detail="is wrong", fix="correct it"),
        FieldError(document="pipe/other", pointer="/x", detail="of no document in the file"),
    ]
    assert [str(each) for each in located(refused, read_documents([path]))] == [
        f"{path}:4: $.source: there is no source 's'",
        f"{path}:8: $.match.data.n: is wrong; correct it",
    ]
