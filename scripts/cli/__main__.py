"""`python -m scripts.cli`: the `hifi` command."""

from scripts.cli.main import main

main()
