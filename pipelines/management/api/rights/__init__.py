"""Authentication, permissions and limits of callers, and the audit log."""
