"""Synthesises an environment with cdktn, the fork of CDKTF: `with_the_fork.py ENVIRONMENT FOLDER`.

.venv-cdktn/bin/python runs it in a copy of `infra/` that imports the fork's packages.
"""

import sys

from cdktn import App  # type: ignore[import-not-found]

from infra.config import EnvironmentName, RunSettings, load_environment
from infra.main import declare

_, environment, folder = sys.argv
app = App(outdir=folder)
declare(app, load_environment(RunSettings(environment=EnvironmentName(environment))))
app.synth()
