"""Stacks applied with Terraform's real AWS provider against a local endpoint."""
