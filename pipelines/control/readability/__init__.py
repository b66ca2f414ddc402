"""Whether a version reads what another one wrote: its own code says so, before it is started."""
