"""Runtime state of the traffic: which side has which weight, and which one is closed."""

import json
from collections.abc import Sequence

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.ssm_parameter import SsmParameter
from constructs import Construct

from infra.naming import Names, Side

FIRST_WEIGHTS = {Side.BLUE: 100, Side.GREEN: 0}


class LiveTraffic(Construct):
    """Two SSM parameters, of which Terraform declares only the first values.

    The deployer changes the values, and edge reads them: so neither a deployment of edge nor
    one of foundation can move traffic.
    """

    def __init__(self, scope: Construct, name: str, *, names: Names) -> None:
        """Declare the parameters.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            names: Naming rules of the environment.
        """
        super().__init__(scope, name)
        first = {side.value: weight for side, weight in FIRST_WEIGHTS.items()}
        self._parameter("weights", names.weights_parameter, first, "Weights of the sides that hold now")
        self._parameter("closed", names.closed_parameter, [], "Sides that get no traffic in any case")

    def _parameter(
        self, part: str, parameter: str, first: dict[str, int] | Sequence[str], description: str
    ) -> None:
        SsmParameter(
            self,
            part,
            name=parameter,
            type="String",
            value=json.dumps(first),
            description=description,
            lifecycle=TerraformResourceLifecycle(ignore_changes=["value", "insecure_value"]),
        )
