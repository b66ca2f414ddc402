"""Base class of the stacks: AWS provider, state backend and tags."""

from cdktf import LocalBackend, S3Backend, TerraformStack
from constructs import Construct

from infra.config import Environment
from infra.stacks.provider import configure_provider


class Stack(TerraformStack):
    """A stack of one environment; its resources are tagged with the environment and the stack's name."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Configure provider and backend.

        Args:
            scope: The app.
            name: Name of the stack: `foundation`, `blue`, `green` or `edge`.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        self.environment = environment
        self.aws = configure_provider(self, environment, tags=environment.tags(stack=name))
        _configure_backend(self, name, environment)


def _configure_backend(stack: TerraformStack, name: str, environment: Environment) -> None:
    if environment.state_folder is not None:
        LocalBackend(stack, path=str(environment.state_folder / f"{name}.tfstate"))
        return
    backend = S3Backend(
        stack,
        bucket=environment.names.bucket("state"),
        key=f"{name}.tfstate",
        region=environment.region,
        encrypt=True,
        kms_key_id=environment.names.key_alias("state"),
        allowed_account_ids=[environment.account],
    )
    # cdktf's binding has no parameter for locks in the bucket itself, which need no DynamoDB table.
    backend.add_override("use_lockfile", True)
