"""Checks that an AWS account has what an environment needs, before that is deployed to it."""
