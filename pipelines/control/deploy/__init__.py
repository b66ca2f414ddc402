"""The deployer: brings versions to two sides, and traffic from one to the other, one release at a time.

- `service`, `deployer`: the process, which leads or waits; one turn of it: look, act, decide, write down.
- `hands`, `operations`: what acts: permission in the sides' registers; calls of the backend.
- `backend`: what a place of two sides does for it; AWS is in `pipelines.control.backends`.
- `seen`, `decisions`: what a look found; what becomes of the release (`decided`), by the modules below.
- `judgement`: the verdict on a version; `minute_values` and `significance` are its values and tests.
- `traffic_minutes`: in which minutes the version had customers' events.
- `preflight`, `steps`, `transitions`: before the first step; after each one; from one to another.
- `sufficiency`, `replays`: whether a proof, a rating or a drained side is enough; where a replay begins.
- `unready_side`, `moved_traffic`: a side that is not ready for long; one that was given traffic by hand.
- `policy`, `settings`: the limits; their HIFI_* variables.
- `metrics`, `side_states`: what Prometheus shows; what `hifi sides` shows.

The steps and their order are in `shared.contracts.release_steps`.
"""
