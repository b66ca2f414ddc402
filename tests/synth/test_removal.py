"""The page names every step that must come before an environment can be destroyed."""

import re
from pathlib import Path

from tests.synth.conftest import UNPROTECTED, Synthesised
from tests.synth.terraform import resources

PAGE = (Path(__file__).parents[2] / "docs" / "infrastructure.md").read_text()
REMOVAL = PAGE[PAGE.index("To remove everything") : PAGE.index("## What proves what")]


def test_every_stack_that_is_protected_is_deployed_without_that_before_it_is_destroyed(
    synthesised: Synthesised,
) -> None:
    production, unprotected = synthesised("production"), synthesised(UNPROTECTED)
    protected = {name for name, stack in production.items() if stack != unprotected[name]}
    assert "foundation" in protected
    deployed = re.search(r"(?m)^npx cdktf deploy ([a-z ]+)$", REMOVAL)
    assert deployed
    assert protected <= set(deployed[1].split())


def test_repositories_that_refuse_to_go_with_their_images_are_deleted_by_force(
    synthesised: Synthesised,
) -> None:
    refusing = {
        each["name"].rpartition("/")[2]
        for each in resources(synthesised("production")["foundation"], "aws_ecr_repository")
        if not each["force_delete"]
    }
    assert refusing
    forced = re.search(r"for image in ([a-z ]+); do aws ecr delete-repository --force", REMOVAL)
    assert forced
    assert refusing == set(forced[1].split())
