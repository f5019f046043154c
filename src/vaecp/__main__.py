"""Run the command line as `python -m vaecp`."""

from vaecp.app.cli import main

main()
