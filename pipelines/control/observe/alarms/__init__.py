"""Alarms: rules, lifecycle and notifications. Observe calls `service.Alarms.update` in each pass."""
