"""Problems of a user's file are reported with line, field and fix."""

from pathlib import Path

import pytest

from scripts.documents.files import read_documents
from scripts.documents.plan import plan, users
from scripts.documents.text import in_short, to_yaml
from scripts.local.side import REACH
from shared.connectors.registry import SPECS, options_of
from shared.contracts.documents import Catalogue, Destination, Source, decode_entry, kind_of
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.publish_plan import Change
from shared.documents.problems import ProblemsError

PUBLIC = EgressPolicy()
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


def problems(tmp_path: Path, text: str, reach: EgressPolicy = PUBLIC) -> list[str]:
    path = tmp_path / "f.yaml"
    path.write_text(text)
    with pytest.raises(ProblemsError) as caught:
        plan(read_documents([path]), Catalogue(), reach)
    return [str(each).replace(str(path), "f") for each in caught.value.problems]


def published(tmp_path: Path, text: str, before: Catalogue | None = None) -> Catalogue:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    before = before or Catalogue()
    steps = plan(read_documents([path]), before, PUBLIC)
    return Catalogue({**before.entries, **{step.key: step.entry for step in steps}})


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
        (GOOD.replace("source: shop", "source: shup"), "f:14: $.source: there is no source 'shup'"),
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
    ],
)
def test_a_problem_is_said_with_its_line_and_fix(tmp_path: Path, text: str, said: str) -> None:
    assert any(line.startswith(said) for line in problems(tmp_path, text)), problems(tmp_path, text)


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, "kind: source\nname: A B\nrate_limit: -1\n---\nkind: pip\n")
    assert [line.split(":")[1] for line in found] == ["1", "1", "2", "3", "5"]


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
    text = GOOD + "match: {data: {state: [on, no, 12:30, 2026-01-31, 010, true, 1.5]}}\n"
    (pipe,) = published(tmp_path, text).pipes.values()
    assert pipe.match["data"]["state"] == ["on", "no", "12:30", "2026-01-31", 10, True, 1.5]


def test_anchors_and_merges_work(tmp_path: Path) -> None:
    headers = "headers: {<<: &common {x-team: a}, x-also: b}"
    text = GOOD.replace("options: {", "connector: &kind webhook\noptions: {" + headers + ", ")
    (destination,) = published(tmp_path, text).destinations.values()
    assert destination.options["headers"] == {"x-team": "a", "x-also": "b"}


def test_a_write_key_is_published_only_as_its_hash(tmp_path: Path) -> None:
    source = published(tmp_path, GOOD).sources["shop"]
    assert isinstance(source, Source)
    assert source.write_keys[0].startswith("sha256:")


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("169.254.169.254", "leads to a cloud metadata address; give a public address, or a name that"),
        ("user@10.0.0.7:8080", "leads to a private address"),
        ("[::1]", "leads to a loopback address"),
        ("[::ffff:8.8.8.8]", "leads to an IPv4-in-IPv6 address"),
        ("localhost", "leads to a loopback address"),
        ("hooks.localhost.", "leads to a loopback address"),
        ("0x7f.1", "leads to a loopback address"),
        ("0251.0376.0251.0376", "leads to a cloud metadata address"),
        ("134744072", "spells an address in an unusual way; write 8.8.8.8"),
        ("8.8.8.8.", "spells an address in an unusual way; write 8.8.8.8"),
    ],
)
def test_a_url_that_spells_out_an_inner_address_is_refused_at_its_line(
    tmp_path: Path, host: str, said: str
) -> None:
    (found,) = problems(tmp_path, GOOD.replace("example.com", host))
    assert found.startswith(f"f:9: $.options.url: {said}")


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "[2606:4700::1111]", "example.com", "10.example.com", "1e100.net"]
)
def test_a_url_that_is_public_or_a_name_is_taken(tmp_path: Path, host: str) -> None:
    assert "hook" in published(tmp_path, GOOD.replace("example.com", host)).destinations


def test_a_local_side_takes_its_own_machine_and_no_other_inner_address(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("https://example.com", "http://127.0.0.1:9000"))
    assert len(plan(read_documents([path]), Catalogue(), REACH)) == 3
    (found,) = problems(tmp_path, GOOD.replace("example.com", "192.168.1.4"), REACH)
    assert "private" in found


def test_versions_count_changes_and_the_same_again_is_unchanged(tmp_path: Path) -> None:
    before = published(tmp_path, GOOD)
    path = tmp_path / "p.yaml"
    assert {step.change for step in plan(read_documents([path]), before, PUBLIC)} == {Change.UNCHANGED}
    path.write_text(GOOD + "sample: 50\n")
    steps = plan(read_documents([path]), before, PUBLIC)
    assert [(step.change, step.entry.version) for step in steps] == [
        (Change.UNCHANGED, 1),
        (Change.UNCHANGED, 1),
        (Change.CHANGED, 2),
    ]


def test_shown_documents_can_be_applied_again_without_a_change(tmp_path: Path) -> None:
    words = "['on', '1e5', '0o7', '010', '2026-01-31', '.5', '~']"
    extra = f"ramp: {{start: 2026-01-31T12:00:00Z, minutes: 5}}\nmatch: {{type: {words}}}\n"
    before = published(tmp_path, GOOD + extra)
    path = tmp_path / "shown.yaml"
    path.write_text(to_yaml(before.entries.values()))
    assert {step.change for step in plan(read_documents([path]), before, PUBLIC)} == {Change.UNCHANGED}


def test_a_pipe_may_name_published_documents(tmp_path: Path) -> None:
    source, destination, pipe = GOOD.split("---\n")
    before = published(tmp_path, source + "---\n" + destination)
    assert "orders" in published(tmp_path, pipe, before).pipes


def test_a_change_that_breaks_a_published_pipe_is_refused(tmp_path: Path) -> None:
    before = published(tmp_path, GOOD)
    with pytest.raises(ProblemsError, match="pipe 'orders' of tenant 'acme' uses it"):
        published(tmp_path, GOOD.split("---\n", maxsplit=1)[0].replace("acme", "other"), before)


def test_a_name_does_not_go_over_to_another_tenant(tmp_path: Path) -> None:
    before = published(tmp_path, GOOD)

    with pytest.raises(ProblemsError) as caught:
        published(tmp_path, GOOD.replace("acme", "other"), before)

    said = [str(each) for each in caught.value.problems if "belongs to tenant 'acme'" in str(each)]
    assert [line.partition("p.yaml:")[2].partition(" ")[0] for line in said] == ["3:", "8:", "13:"]


def test_a_document_of_a_newer_version_is_read_as_far_as_it_is_understood() -> None:
    value = (
        b'{"version":3,"since":"tomorrow","document":{"kind":"destination","name":"d","tenant":"t",'
        b'"options":{"url":"https://example.com","http":3},"lanes":4,"batch":{"max_events":7,"shape":"round"}}}'
    )
    document = decode_entry(value).document

    assert isinstance(document, Destination)
    assert document.batch.max_events == 7
    assert options_of(document, SPECS["webhook"]).url == "https://example.com"


def test_users_of_a_destination_are_named(tmp_path: Path) -> None:
    before = published(tmp_path, GOOD)
    assert users(before, "destination", "hook") == ["orders"]
    assert users(before, "pipe", "orders") == []


def test_masks_and_a_transform_are_shown_and_can_be_applied_again(tmp_path: Path) -> None:
    text = GOOD + "masks:\n- path: $.data['a.b'][*].c\n  action: hash\ntransform: 'data.{n: \"x\"}'\n"
    before = published(tmp_path, text)
    assert in_short(before.pipes["orders"]) == "shop -> hook, 1 mask, transform"
    path = tmp_path / "again.yaml"
    path.write_text(to_yaml([entry for entry in before.entries.values() if entry.document.name == "orders"]))
    (step,) = plan(read_documents([path]), before, PUBLIC)
    assert step.change is Change.UNCHANGED
