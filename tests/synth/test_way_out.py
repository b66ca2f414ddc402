"""A replacement for CDKTF, which is archived: its fork cdktn writes the same Terraform (ADR 0019)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.synth.conftest import Synthesised

pytestmark = pytest.mark.proof

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".venv-cdktn" / "bin" / "python"
MOVE: Final = {
    r"\bcdktf_cdktf_provider_(aws|helm)\b": r"cdktn_provider_\1",
    r"(?m)^(\s*(?:from|import)) cdktf\b": r"\1 cdktn",
}
"""The whole change of the move: three packages get the fork's names."""

AWS: Final = ("aws", "5.100.0"), ("hashicorp/aws", "6.32.1")
"""Source and version of the AWS provider, before and after: the fork has no bindings for provider 5."""

SECONDS: Final = 300


def moved(folder: Path) -> Path:
    """A copy of the stacks and their imports, with the fork's names."""
    for part in ("infra", "shared/contracts"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "shared" / "__init__.py").touch()
    for file in (folder / "infra").rglob("*.py"):
        text = file.read_text()
        for ours, theirs in MOVE.items():
            text = re.sub(ours, theirs, text)
        file.write_text(text)
    shutil.copy(Path(__file__).with_name("with_the_fork.py"), folder / "synthesise.py")
    return folder


@pytest.fixture(scope="module")
def of_the_fork(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Production's stacks as the fork writes them."""
    if not PYTHON.exists():
        pytest.skip("no cdktn: `make cdktn-tools` installs it in an environment of its own")
    if shutil.which("node") is None:
        pytest.skip("no node: install Node.js 20 or newer (apt-get install nodejs) to synthesise the stacks")
    folder, written = moved(tmp_path_factory.mktemp("moved")), tmp_path_factory.mktemp("written")
    done = subprocess.run(
        [str(PYTHON), "synthesise.py", "production", str(written)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {each.parent.name: json.loads(each.read_text()) for each in written.glob("stacks/*/cdk.tf.json")}


def comparable(stack: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """A stack without the name of its tool and without its AWS provider."""
    rest = json.loads(json.dumps(stack))
    rest.pop("//", None)  # version of the tool
    provider = rest["terraform"]["required_providers"].pop("aws")
    return rest, (provider["source"], provider["version"])


def test_the_fork_writes_the_same_terraform_for_every_stack(
    of_the_fork: dict[str, Any], synthesised: Synthesised
) -> None:
    ours = synthesised("production")
    assert set(of_the_fork) == set(ours) == {"foundation", "blue", "green", "edge"}
    for name, stack in ours.items():
        (before, old), (after, new) = comparable(stack), comparable(of_the_fork[name])
        assert before == after, name
        assert (old, new) == AWS, name
