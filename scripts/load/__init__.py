"""Load and its accounting: events to send, a sender, a destination, and the comparison of their records."""
