import json
import shutil
from pathlib import Path

import pytest

from tests.synth.checkov import read_exceptions, scan
from tests.synth.conftest import Folder
from tests.synth.terraform import resources

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
EXCEPTIONS = read_exceptions(ROOT / "infra" / "policy_exceptions.yaml")


@pytest.fixture(scope="module")
def checkov() -> str:
    own = ROOT / ".venv-policy" / "bin" / "checkov"
    found = str(own) if own.exists() else shutil.which("checkov")
    if found is None:
        pytest.skip("no checkov: run `make policy-tools` to check the stacks against its policies")
    return found


# Only production: staging has less of some things (NAT gateways, deletion protection) on purpose.
def test_every_finding_has_an_exception(checkov: str, synthesised_folder: Folder) -> None:
    findings = scan(checkov, synthesised_folder("production"))
    open_findings = [each for each in findings if not any(exempt.covers(each) for exempt in EXCEPTIONS)]
    assert open_findings == []
    unused = [each for each in EXCEPTIONS if not any(each.covers(finding) for finding in findings)]
    assert unused == [], "take out exceptions that nothing needs any more"


def test_the_check_sees_what_is_wrong(checkov: str, synthesised_folder: Folder, tmp_path: Path) -> None:
    stack = json.loads((synthesised_folder("production") / "foundation" / "cdk.tf.json").read_text())
    for repository in resources(stack, "aws_ecr_repository"):
        repository["image_tag_mutability"] = "MUTABLE"
    for key in resources(stack, "aws_kms_key"):
        key["enable_key_rotation"] = False
    folder = tmp_path / "foundation"
    folder.mkdir()
    (folder / "cdk.tf.json").write_text(json.dumps(stack))
    assert {"CKV_AWS_51", "CKV_AWS_7"} <= {each.check for each in scan(checkov, tmp_path)}


def test_every_exception_says_why() -> None:
    assert all(len(each.reason.split()) >= 5 for each in EXCEPTIONS)
