"""The meter's store of these tests: DynamoDB Local, which every test has to itself by a table of its own."""

from tests.contract.conftest import dynamodb_local, own_tables, patient_tables

__all__ = ["dynamodb_local", "own_tables", "patient_tables"]
