"""Answers of the management API: it builds them, describes them by OpenAPI, and its clients decode them.

Roles and states are texts here: a later version may have others. Times are epoch milliseconds.
"""
