# SPDX-License-Identifier: LGPL-2.1-or-later
"""A check of many cases, on all cores."""
import concurrent.futures
import os


def check_all(check, cases):
    """Calls check(case), which returns a list of failures. Prints them and the line "N passed, M failed"; returns the exit status."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for failures in pool.map(check, cases):
            failed += bool(failures)
            for failure in failures:
                print('FAILED', failure)
    print(f'{len(cases) - failed} passed, {failed} failed')
    return 1 if failed or not cases else 0
