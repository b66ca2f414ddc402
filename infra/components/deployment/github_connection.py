"""The connection through which the sides' runners take jobs from GitHub."""

from cdktf_cdktf_provider_aws.codestarconnections_connection import CodestarconnectionsConnection
from constructs import Construct


class GithubConnection(Construct):
    """A connection to GitHub. It is pending until a person confirms it once, in the AWS console."""

    def __init__(self, scope: Construct, name: str, *, connection_name: str) -> None:
        """Declare the connection.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            connection_name: Name in AWS, by which the sides find it.
        """
        super().__init__(scope, name)
        self.arn = str(
            CodestarconnectionsConnection(
                self, "connection", name=connection_name, provider_type="GitHub"
            ).arn
        )
