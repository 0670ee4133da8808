# SPDX-License-Identifier: LGPL-2.1-or-later
"""For tests in Python: counts what passes and fails, as tally.sh does."""
import sys

_counts = {True: 0, False: 0}


def expect(holds, what):
    """Counts a check; what: printed where it does not hold."""
    _counts[bool(holds)] += 1
    if not holds:
        print("FAILED", what)


def finish():
    """Prints the line that tests end in, and ends the program: with 1 where a check failed."""
    print(f"{_counts[True]} passed, {_counts[False]} failed")
    sys.exit(_counts[False] != 0)
