"""Problems in a user's file are reported with line, field and fix."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.documents.files import read_documents
from scripts.documents.refusals import refuse_together
from scripts.documents.text import in_short, to_yaml
from shared.connectors.registry import SPECS, options_of
from shared.contracts.documents import Destination, Document, Entry, Pipe, decode_entry, kind_of, sealed
from shared.documents.problems import ProblemsError

GOOD = """\
kind: source
name: shop
tenant: acme
write_keys: [a-long-write-key]
---
kind: destination
name: hook
tenant: acme
options: {url: 'https://example.com/hook'}
---
kind: pipe
name: orders
tenant: acme
source: shop
destination: hook
"""


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    with pytest.raises(ProblemsError) as caught:
        refuse_together(read_documents([path]))
    return [str(each).replace(str(path), "f") for each in caught.value.problems]


def read(tmp_path: Path, text: str) -> list[Document]:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return [sealed(each.document) for each in read_documents([path])]


def pipe_of(tmp_path: Path, text: str) -> Pipe:
    (found,) = (each for each in read(tmp_path, text) if isinstance(each, Pipe))
    return found


def shown(documents: Iterable[Document]) -> str:
    return to_yaml(Entry(version=1, document=each) for each in documents)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: sorce\nname: a\n", "f:1: $.kind: unknown kind 'sorce'; did you mean 'source'?"),
        ("name: a\n", "f:1: $: the document has no kind; add `kind:`"),
        ("- a\n", "f:1: $: a document is a mapping, not a list"),
        (
            GOOD.replace("{url:", "\n  {urll:"),
            "f:10: $.options.urll: the webhook connector has no option 'urll'; did you mean 'url'?",
        ),
        (GOOD.replace("name: shop", "name: Shop"), "f:2: $.name: 'Shop' is not allowed here; at most 63"),
        (GOOD + "sample: 101\n", "f:16: $.sample: Expected float <= 100.0; a percentage"),
        (GOOD + "match:\n  data:\n    n: [{numeri: ['>', 1]}]\n", "f:18: $.match.data.n[0]: 'numeri' is"),
        (GOOD + "name: again\n", "f:16: $.name: given twice, first on line 12"),
        (GOOD + "match: {a: [1}\n", "f:16: $: while parsing a flow sequence"),
        (
            GOOD.replace("options: {url: ", "url: ").replace("hook'}", "hook'"),
            "f:9: $.url: a destination has no field 'url'; write 'url' below `options:`",
        ),
        (
            GOOD.replace("options: {url: 'https://example.com/hook'}", "timeout_seconds: 2"),
            "f:6: $.options: 'url' is missing; where to POST, for example https://example.com/hook",
        ),
        (
            GOOD.replace("https:", "ftp:"),
            "f:9: $.options.url: is not allowed here; where to POST, for example https://",
        ),
        (
            GOOD.replace("options:", "connector: webhok\noptions:"),
            "f:9: $.connector: unknown connector 'webhok'; did you mean 'webhook'?",
        ),
        (GOOD + "sample: 0.001\n", "f:16: $.sample: the smallest sample is 0.01 percent"),
        (
            GOOD.replace("hook'}\n---", "hook'}\nbatch: {max_evens: 7}\n---"),
            "f:10: $.batch.max_evens: batch has no",
        ),
        (GOOD.replace("//example.com", "//exa mple.com"), "f:9: $.options.url: is not a URL"),
        (GOOD.replace("//example.com", "//example.com:port"), "f:9: $.options.url: is not a URL"),
        (GOOD.replace("//example.com", "//"), "f:9: $.options.url: is not a URL"),
        (GOOD.replace("hook'}", "hook', headers: {a b: c}}"), "f:9: $.options.headers.a b: is not a valid"),
        (GOOD.replace("hook'}", "hook', headers: {Host: c}}"), "f:9: $.options.headers.Host: is set by hifi"),
        (GOOD.replace("hook'}", 'hook\', headers: {a: "b\\nc"}}'), "f:9: $.options.headers.a: holds a line"),
        (
            GOOD + "masks:\n- {path: $.data.a, action: drop}\n- {path: $..b, action: drop}\n",
            "f:18: $.masks[1].path: cannot be read from character 2 on ('..b'); a step is",
        ),
        (
            GOOD + "masks:\n- {path: $.data.a, action: remove}\n",
            "f:17: $.masks[0].action: Invalid enum value 'remove'; a list, for example",
        ),
        (GOOD + "masks:\n- {path: $.id, action: drop}\n", "f:17: $.masks[0].path: `id` cannot be masked"),
        (GOOD + "masks:\n- {path: $.data, action: drop, if: 1}\n", "f:17: $.masks[0].if: masks[0] has no"),
        (
            GOOD + "transform: 'data.{total: sum(items[].price}'\n",
            "f:16: $.transform: is not JMESPath at character 31, near '}'",
        ),
        (
            GOOD + "transform: |\n  {\n    n: lenght(data)\n  }\n",
            "f:16: $.transform: calls lenght() at line 2, character 6, which JMESPath does not have; did you",
        ),
        (GOOD + "transform: [data]\n", "f:16: $.transform: Expected text | null, got list; a JMESPath"),
        (GOOD + "---\n" + GOOD, "f:18: $.name: source 'shop' is given twice, first at f:2"),
        (
            GOOD + "---\n" + GOOD.replace("name: shop", "name: app").replace("acme", "other", 1),
            "f:20: $.write_keys[0]: sources 'shop' and 'app' have one write key, first at f:4; give each",
        ),
        (
            GOOD.replace("[a-long-write-key]", "\n- a-long-write-key\n- |\n  another-key"),
            "f:6: $.write_keys[1]: has white space around it, such as a line break, which no request",
        ),
        (GOOD.replace("acme", "canary", 1), "f:3: $.tenant: 'canary' is hifi itself; choose another tenant"),
    ],
)
def test_a_problem_is_said_with_its_line_and_fix(tmp_path: Path, text: str, said: str) -> None:
    assert any(line.startswith(said) for line in problems(tmp_path, text)), problems(tmp_path, text)


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, "kind: source\nname: A B\nrate_limit: -1\n---\nkind: pip\n")
    assert [line.split(":")[1] for line in found] == ["1", "2", "3", "5"]


def test_a_missing_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="cannot be read"):
        read_documents([tmp_path / "absent.yaml"])


def test_a_folder_gives_its_files(tmp_path: Path) -> None:
    for number, text in enumerate(GOOD.split("---\n")):
        (tmp_path / f"{number}.yaml").write_text(text)
    assert [kind_of(each.document) for each in read_documents([tmp_path])] == [
        "source",
        "destination",
        "pipe",
    ]


def test_words_of_yaml_1_1_stay_words_in_a_pattern(tmp_path: Path) -> None:
    pipe = pipe_of(tmp_path, GOOD + "match: {data: {state: [on, no, 12:30, 2026-01-31, 010, true, 1.5]}}\n")
    assert pipe.match["data"]["state"] == ["on", "no", "12:30", "2026-01-31", 10, True, 1.5]


def test_anchors_and_merges_work(tmp_path: Path) -> None:
    headers = "headers: {<<: &common {x-team: a}, x-also: b}"
    text = GOOD.replace("options: {", "connector: &kind webhook\noptions: {" + headers + ", ")
    destination = read(tmp_path, text)[1]
    assert isinstance(destination, Destination)
    assert destination.options["headers"] == {"x-team": "a", "x-also": "b"}


def test_a_source_without_write_keys_leaves_them_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("write_keys: [a-long-write-key]\n", ""))
    source = read_documents([path])[0]
    assert source.wanted.body() == {"kind": "source", "name": "shop", "tenant": "acme", "rate_limit": None}


def test_documents_that_are_shown_can_be_read_again_as_they_were(tmp_path: Path) -> None:
    words = "['on', '1e5', '0o7', '010', '2026-01-31', '.5', '~']"
    extra = f"ramp: {{start: 2026-01-31T12:00:00Z, minutes: 5}}\nmatch: {{type: {words}}}\n"
    before = read(tmp_path, GOOD + extra)
    assert read(tmp_path, shown(before)) == before


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x85b", "a\u2028b", "  a\n", "a\n\n b"])
def test_line_breaks_of_any_kind_survive_being_shown(tmp_path: Path, text: str) -> None:
    before = pipe_of(tmp_path, GOOD + f"match: {{type: [{json.dumps(text)}]}}\n")
    assert before.match["type"] == [text]
    assert read(tmp_path, shown([before])) == [before]


def test_a_document_of_a_newer_version_is_read_as_far_as_it_is_understood() -> None:
    value = (
        b'{"version":3,"since":"tomorrow","document":{"kind":"destination","name":"d","tenant":"t",'
        b'"options":{"url":"https://example.com","http":3},"lanes":4,"batch":{"max_events":7,"shape":"round"}}}'
    )
    document = decode_entry(value).document

    assert isinstance(document, Destination)
    assert document.batch.max_events == 7
    assert options_of(document, SPECS["webhook"]).url == "https://example.com"


def test_masks_and_a_transform_are_shown_and_can_be_read_again(tmp_path: Path) -> None:
    text = GOOD + "masks:\n- path: $.data['a.b'][*].c\n  action: hash\ntransform: 'data.{n: \"x\"}'\n"
    pipe = pipe_of(tmp_path, text)
    assert in_short(pipe) == "shop -> hook, 1 mask, transform"
    assert read(tmp_path, shown([pipe])) == [pipe]
