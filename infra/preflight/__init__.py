"""What an AWS account must have before an environment is deployed to it."""
