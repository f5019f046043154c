"""What a campaign came to, in the summary of a run."""

from fuzzing.campaign import TALLY


def pytest_terminal_summary(terminalreporter):
    if TALLY:
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(TALLY.items()))
        terminalreporter.write_line(f"{TALLY.total():,} damaged or made-up files: {counts}")
