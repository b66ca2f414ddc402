"""The deployer: brings versions to two sides, and traffic from one to the other, one release at a time.

- `service`, `deployer`: the process, which leads or waits; one turn of it: look, act, decide, write down.
- `permissions`, `operations`: act, by permission in the sides' registers and calls of the backend. The steps
  that act are functions of `forward_operations` and `back_operations`, over what they have in common
  (`held_sides`); parts of them are `rewinding` (where a side begins anew) and `patches` (changes that the
  place itself makes).
- `backend`: the interface to a place with two sides; the one for AWS is in `pipelines.control.backends`.
- `deciding`: decides the next state (`decided`) from the findings of a look (`seen`), before the first step,
  after each one and on the way back; moves from step to step (`transitions`).
- `judging`: the verdict on a version (`judgement`), the values of its minutes and their tests; whether a
  proof, a rating or a drained side is enough (`sufficiency`).
- `replays`: where a replay begins.
- `policy`, `settings`: the limits; their HIFI_* variables.
- `metrics`, `side_states`: the figures of Prometheus and of `hifi sides`.

The steps and their order are in `shared.contracts.release_steps`.
"""
