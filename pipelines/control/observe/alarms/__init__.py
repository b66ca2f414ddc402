"""What is wrong, told to whom it concerns. `service.Alarms` is what observe calls once a look."""
