"""Run the command line as `python -m vaecp`."""

from vaecp.cli import main

main()
