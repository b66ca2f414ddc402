"""The store of these tests' meters: DynamoDB Local, with a separate table for each test."""

from tests.contract.conftest import dynamodb_local, own_tables, patient_tables

__all__ = ["dynamodb_local", "own_tables", "patient_tables"]
