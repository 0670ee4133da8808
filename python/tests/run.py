# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the tests beside it. Ends in a line "N passed, N failed"."""
import pathlib
import unittest

suite = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent))
result = unittest.TextTestRunner(verbosity=1).run(suite)
bad = len(result.failures) + len(result.errors)
print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
raise SystemExit(bad != 0)
