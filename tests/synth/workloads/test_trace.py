"""The component for a side with a receiver of spans."""

import os
from pathlib import Path

import pytest

from tests.synth.workloads.manifests import (
    WORKLOADS,
    Manifest,
    command,
    container,
    label,
    named,
    of_kind,
    pod,
    render,
)

OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{workloads}/overlays/blue]
components: [{workloads}/components/trace]
"""


@pytest.fixture
def traced(tmp_path: Path, kubectl: None) -> list[Manifest]:
    """Blue with the component."""
    way = os.path.relpath(WORKLOADS, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(OVERLAY.format(workloads=way))
    return render(tmp_path)


def test_trace_is_the_only_thing_that_the_component_adds(
    traced: list[Manifest], blue: list[Manifest]
) -> None:
    added = {label(each) for each in traced} - {label(each) for each in blue}
    assert added == {"Deployment/trace", "NetworkPolicy/trace", "ServiceAccount/trace"}


def test_trace_runs_as_itself_with_the_sides_facts_and_image(traced: list[Manifest]) -> None:
    trace = named(traced, "Deployment", "trace")
    assert command(trace)[-1] == "pipelines.control.trace"
    assert pod(trace)["serviceAccountName"] == "trace"
    assert container(trace)["image"] == container(named(traced, "Deployment", "observe"))["image"]
    (side,) = [each for each in of_kind(traced, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    assert container(trace)["envFrom"] == [{"configMapRef": {"name": side["metadata"]["name"]}}]


def test_trace_reaches_brokers_and_a_receiver_and_no_more(traced: list[Manifest]) -> None:
    policy = named(traced, "NetworkPolicy", "trace")["spec"]
    assert [rule["ports"] for rule in policy["egress"]] == [[{"protocol": "TCP", "port": 4318}]]
