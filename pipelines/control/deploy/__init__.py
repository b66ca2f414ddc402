"""The deployer: brings versions to two sides, and traffic from one to the other, one release at a time.

- `service`, `deployer`: the process, which leads or waits; one turn of it: look, act, decide, write down.
- `permissions`, `operations`: what acts: permission in the sides' registers; calls of the backend.
  `forward_operations` and `back_operations` have a function for each step that acts, `held_sides` what steps
  have in common; `rewinding` and `patches`: where a side begins anew; what the place itself is busy with.
- `backend`: what a place of two sides does for it; AWS is in `pipelines.control.backends`.
- `deciding`: what becomes of the release (`decided`), given what a look found (`seen`), before the first
  step, after each one and on the way back; from one step to another (`transitions`).
- `judging`: the verdict on a version (`judgement`), the values of its minutes and their tests; whether a
  proof, a rating or a drained side is enough (`sufficiency`).
- `replays`: where a replay begins.
- `policy`, `settings`: the limits; their HIFI_* variables.
- `metrics`, `side_states`: what Prometheus shows; what `hifi sides` shows.

The steps and their order are in `shared.contracts.release_steps`.
"""
