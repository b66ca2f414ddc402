import json
import re
from pathlib import Path
from typing import Any

import pytest

from infra.naming import Side
from tests.synth.conftest import ENVIRONMENTS, Synthesised, foundation, settings
from tests.synth.terraform import Stack, address, one, resources, statements
from tests.synth.twin.references import follow


@pytest.fixture(params=ENVIRONMENTS)
def stack(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    return synthesised(request.param)["foundation"]


@pytest.fixture
def production(synthesised: Synthesised) -> Stack:
    return synthesised("production")["foundation"]


def of_bucket(stack: Stack, kind: str, bucket: dict[str, Any]) -> dict[str, Any]:
    return one(stack, kind, bucket=f"${{{address(stack, 'aws_s3_bucket', bucket)}.bucket}}")


def test_every_key_rotates_and_has_an_alias(stack: Stack) -> None:
    keys, aliases = resources(stack, "aws_kms_key"), resources(stack, "aws_kms_alias")
    assert all(key["enable_key_rotation"] for key in keys)
    purposes = {alias["name"].rsplit("-", 1)[1] for alias in aliases}
    assert purposes == {"state", "data", "images", "kafka", "cluster", "logs"}
    assert len(keys) == len({alias["target_key_id"] for alias in aliases}) == len(aliases)


AUTOSCALING_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def test_keys_admit_only_the_account_and_services_of_it(stack: Stack) -> None:
    for key in resources(stack, "aws_kms_key"):
        for statement in statements(key):
            principal = statement["Principal"]
            if "Service" in principal:
                assert statement["Condition"], statement["Sid"]
            else:
                assert principal["AWS"].startswith("arn:aws:iam::")
                assert principal["AWS"].endswith((":root", f":role/{AUTOSCALING_ROLE}"))


def test_auto_scaling_may_use_the_key_of_the_nodes_volumes(stack: Stack) -> None:
    """Its role has no rights of its own on keys: only a statement that names the role grants some."""
    (role,) = resources(stack, "aws_iam_service_linked_role")
    assert role["aws_service_name"] == "autoscaling.amazonaws.com"
    alias = next(each for each in resources(stack, "aws_kms_alias") if each["name"].endswith("-cluster"))
    key = stack["resource"]["aws_kms_key"][alias["target_key_id"].split(".")[1]]
    assert f"{address(stack, 'aws_iam_service_linked_role', role)}" in key["depends_on"]
    named = [each for each in statements(key) if str(each["Principal"].get("AWS")).endswith(AUTOSCALING_ROLE)]
    use, grant = named
    assert {"kms:Decrypt", "kms:GenerateDataKey*"} <= set(use["Action"])
    assert "Condition" not in use
    assert grant["Action"] == ["kms:CreateGrant"]
    assert grant["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def test_a_service_role_that_exists_is_not_made_again(tmp_path: Path, synthesised: Synthesised) -> None:
    synthesised("production")  # skips without Node.js
    existing = settings("production").model_copy(
        update={"existing_service_roles": ["autoscaling.amazonaws.com"]}
    )
    made = foundation(existing, tmp_path)
    assert "aws_iam_service_linked_role" not in made["resource"]
    assert AUTOSCALING_ROLE in json.dumps(made["resource"]["aws_kms_key"])


def test_terraform_never_sets_the_weights_that_hold(stack: Stack) -> None:
    parameters = resources(stack, "aws_ssm_parameter")
    first = {each["name"].rpartition("/")[2]: json.loads(each["value"]) for each in parameters}
    assert first == {"weights": {"blue": 100, "green": 0}, "closed-sides": []}
    assert all(each["lifecycle"]["ignore_changes"] == ["value", "insecure_value"] for each in parameters)


def test_every_bucket_is_private(stack: Stack) -> None:
    buckets = resources(stack, "aws_s3_bucket")
    assert len(buckets) == 5
    for bucket in buckets:
        block = of_bucket(stack, "aws_s3_bucket_public_access_block", bucket)
        assert block["block_public_acls"] is block["ignore_public_acls"] is True
        assert block["block_public_policy"] is block["restrict_public_buckets"] is True
        owner = of_bucket(stack, "aws_s3_bucket_ownership_controls", bucket)
        assert owner["rule"]["object_ownership"] == "BucketOwnerEnforced"


def test_every_bucket_refuses_plain_http(stack: Stack) -> None:
    for bucket in resources(stack, "aws_s3_bucket"):
        policy = of_bucket(stack, "aws_s3_bucket_policy", bucket)
        (refusal,) = (each for each in statements(policy) if each["Effect"] == "Deny")
        assert refusal["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert refusal["Action"] == ["s3:*"]
        assert refusal["Principal"] == {"AWS": "*"}


def test_every_bucket_is_versioned_and_forgets_old_versions(stack: Stack) -> None:
    for bucket in resources(stack, "aws_s3_bucket"):
        versioning = of_bucket(stack, "aws_s3_bucket_versioning", bucket)
        assert versioning["versioning_configuration"]["status"] == "Enabled"
        lifecycle = of_bucket(stack, "aws_s3_bucket_lifecycle_configuration", bucket)
        forgets = [rule for rule in lifecycle["rule"] if rule.get("noncurrent_version_expiration")]
        assert forgets
        assert all(rule["status"] == "Enabled" for rule in lifecycle["rule"])


def test_buckets_with_data_use_our_keys_and_log_access(stack: Stack) -> None:
    for bucket in resources(stack, "aws_s3_bucket"):
        encryption = of_bucket(stack, "aws_s3_bucket_server_side_encryption_configuration", bucket)
        default = encryption["rule"][0]["apply_server_side_encryption_by_default"]
        if "access-logs" in bucket["bucket"]:
            assert default["sse_algorithm"] == "AES256"
        else:
            assert default["sse_algorithm"] == "aws:kms"
            assert default["kms_master_key_id"].startswith("${aws_kms_key.")
            assert of_bucket(stack, "aws_s3_bucket_logging", bucket)["target_prefix"].endswith("/")


def test_only_local_buckets_are_emptied(synthesised: Synthesised) -> None:
    buckets = {name: resources(synthesised(name)["foundation"], "aws_s3_bucket") for name in ENVIRONMENTS}
    emptied = {name: {each["force_destroy"] for each in found} for name, found in buckets.items()}
    assert emptied == {"local": {True}, "staging": {False}, "production": {False}}


def test_landed_data_never_expires(stack: Stack) -> None:
    (landed,) = (each for each in resources(stack, "aws_s3_bucket") if "-landed-" in each["bucket"])
    rules = of_bucket(stack, "aws_s3_bucket_lifecycle_configuration", landed)["rule"]
    # Marks of deletions do expire; they hold no data.
    marks = [{"expired_object_delete_marker": True}]
    assert all(rule.get("expiration", marks) == marks for rule in rules)


def test_the_marks_of_deleted_checkpoints_go_with_their_last_old_version(stack: Stack) -> None:
    (bucket,) = (each for each in resources(stack, "aws_s3_bucket") if "-checkpoints-" in each["bucket"])
    (rule,) = of_bucket(stack, "aws_s3_bucket_lifecycle_configuration", bucket)["rule"]
    assert rule["expiration"] == [{"expired_object_delete_marker": True}]
    assert rule["noncurrent_version_expiration"]


def test_images_never_change_and_are_scanned(stack: Stack) -> None:
    repositories = resources(stack, "aws_ecr_repository")
    assert {each["name"].rsplit("/", 1)[1] for each in repositories} == {"service", "spark"}
    for repository in repositories:
        assert repository["image_tag_mutability"] == "IMMUTABLE"
        assert repository["image_scanning_configuration"]["scan_on_push"] is True
        assert repository["encryption_configuration"][0]["encryption_type"] == "KMS"


def test_tables_are_on_demand_restorable_and_encrypted(stack: Stack) -> None:
    tables = resources(stack, "aws_dynamodb_table")
    assert tables
    for table in tables:
        assert table["billing_mode"] == "PAY_PER_REQUEST"
        assert table["point_in_time_recovery"]["enabled"] is True
        assert table["server_side_encryption"]["enabled"] is True
        assert {each["name"] for each in table["attribute"]} == {table["hash_key"], table["range_key"]}


def test_production_tables_refuse_to_be_deleted(production: Stack) -> None:
    assert all(each["deletion_protection_enabled"] for each in resources(production, "aws_dynamodb_table"))


def test_the_page_lists_every_table_with_its_keys(production: Stack) -> None:
    page = (Path(__file__).parents[2] / "docs" / "infrastructure.md").read_text()
    rows = re.findall(r"(?m)^\| `hifi-<environment>-([^`]+)` \| `(\w+)`, `(\w+)` \|", page)
    listed = {(name.replace("<side>", side), first, second) for name, first, second in rows for side in Side}
    assert listed == {
        (table["name"].removeprefix("hifi-production-"), table["hash_key"], table["range_key"])
        for table in resources(production, "aws_dynamodb_table")
    }


def test_policies_fit_into_iam(stack: Stack) -> None:
    limit = 6144
    for policy in resources(stack, "aws_iam_policy"):
        assert len("".join(policy["policy"].split())) <= limit, policy["name"]


def test_the_certificates_are_of_the_hosts_of_events_and_of_the_management_plane(production: Stack) -> None:
    certificates = resources(production, "aws_acm_certificate")
    hosts = [[each["domain_name"], *each.get("subject_alternative_names", [])] for each in certificates]
    domain = "hifi.example.com"
    assert sorted(hosts) == [[f"api.{domain}", f"console.{domain}"], [f"events.{domain}"]]
    assert {each["validation_method"] for each in certificates} == {"DNS"}
    assert len(resources(production, "aws_acm_certificate_validation")) == len(certificates)


def test_each_host_of_a_certificate_has_a_record_that_proves_it(production: Stack) -> None:
    for validation in resources(production, "aws_acm_certificate_validation"):
        certificate = follow(production, validation["certificate_arn"])
        proofs = [follow(production, each) for each in validation["validation_record_fqdns"]]
        hosts = [certificate["domain_name"], *certificate.get("subject_alternative_names", [])]
        assert len({each["name"] for each in proofs}) == len(hosts)


def test_the_budget_notifies_before_and_when_it_is_spent(production: Stack) -> None:
    budget = one(production, "aws_budgets_budget", budget_type="COST", time_unit="MONTHLY")
    kinds = {each["notification_type"]: each["threshold"] for each in budget["notification"]}
    assert kinds == {"ACTUAL": 80, "FORECASTED": 100}
    assert all(each["subscriber_sns_topic_arns"] for each in budget["notification"])


def test_lifecycle_of_images_ends_what_has_no_tag(stack: Stack) -> None:
    for policy in resources(stack, "aws_ecr_lifecycle_policy"):
        rules = json.loads(policy["policy"])["rules"]
        assert {rule["selection"]["tagStatus"] for rule in rules} == {"untagged", "tagged"}
