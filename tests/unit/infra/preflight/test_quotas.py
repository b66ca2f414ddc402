"""Account quotas that an environment needs."""

import pytest

from infra.config import EnvironmentName, RunSettings, load_environment
from infra.preflight.quotas import Demand, demands, shortages, vcpus

PRODUCTION = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))
NEEDED = {each.code: each.needed for each in demands(PRODUCTION)}


@pytest.mark.parametrize(
    ("instance_type", "count"),
    [("t4g.nano", 2), ("m6g.medium", 1), ("m7g.large", 2), ("c7g.xlarge", 4), ("c7gd.12xlarge", 48)],
)
def test_vcpus_follow_from_the_size(instance_type: str, count: int) -> None:
    assert vcpus(instance_type) == count


@pytest.mark.parametrize("instance_type", ["m7g.metal", "m7g", "kafka"])
def test_an_unknown_size_is_named(instance_type: str) -> None:
    with pytest.raises(ValueError, match=instance_type):
        vcpus(instance_type)


def test_production_needs_an_address_for_each_nat_gateway_of_both_sides() -> None:
    assert NEEDED["L-0263D0A3"] == 2 * 3


def test_spare_workers_count_as_on_demand_and_workers_as_spot() -> None:
    cluster = PRODUCTION.cluster
    on_demand = cluster.services.maximum * 2 + cluster.drivers.maximum * 2 + cluster.spare_workers.maximum * 4
    assert NEEDED["L-1216C47A"] == 2 * on_demand
    assert NEEDED["L-34B43A08"] == 2 * cluster.workers.maximum * 4


DEMAND = Demand(service="ec2", code="L-1", name="things", needed=6, purpose="test")


@pytest.mark.parametrize(("quota", "used", "is_short"), [(5, 0, True), (6, 0, False), (6, 1, True)])
def test_what_others_use_is_not_there_for_the_environment(quota: int, used: int, is_short: bool) -> None:
    found = shortages([DEMAND], {"L-1": quota}, {"L-1": used})
    assert bool(found) is is_short
    assert all(each.wanted == 6 + used for each in found)
