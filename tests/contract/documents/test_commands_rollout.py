"""`hifi rollout` over the management API and a provisioner."""

from typing import Any
from uuid import uuid4

import yaml

from tests.harness.command_line import Hifi
from tests.harness.waiting import eventually


def test_a_rollout_is_shown_and_led_from_the_command_line(hifi: Hifi) -> None:
    name = f"t{uuid4().hex[:8]}"
    documents: list[dict[str, Any]] = [
        {"kind": "source", "name": name, "tenant": name, "write_keys": [f"key-of-{name}"]},
        {"kind": "destination", "name": name, "tenant": name, "options": {"url": "http://127.0.0.1:9/"}},
        {"kind": "pipe", "name": name, "tenant": name, "source": name, "destination": name},
    ]
    documents[2]["rollout"] = {"steps": [1, 10, 100], "every": "1s"}
    applied = hifi.run("apply", "-", stdin=yaml.safe_dump_all(documents))
    assert applied.returncode == 0, applied.stderr
    waits = eventually(
        lambda: (found := hifi.run("rollout", name).stdout) and "waiting" in found and found, 120
    )
    assert "the meter does not answer" in waits.splitlines()[1]
    assert [line.split()[:3] for line in waits.splitlines()[2:]] == [["2", "10", "%"], ["3", "100", "%"]]
    assert hifi.json("rollout", name, "back")["share"] == 0
    refused = hifi.run("rollout", name, "back")
    assert refused.returncode == 1
    assert "takes nothing already" in refused.stderr
    assert "<- done: opened on request" in hifi.run("rollout", name, "finish").stdout.splitlines()[-1]
    assert hifi.run("rollout", name, "jump").returncode == 2
    shown = yaml.safe_load(hifi.run("get", "pipe", name).stdout)
    assert shown["rollout"]["steps"] == [1, 10, 100], "the document is as it was written"
