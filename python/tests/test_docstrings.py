# SPDX-License-Identifier: LGPL-2.1-or-later
"""Examples in docstrings."""
import doctest
import unittest

import cudaenc
import cudaenc.mp4


def load_tests(loader, tests, pattern):
    for module in cudaenc, cudaenc.mp4:
        tests.addTests(doctest.DocTestSuite(module))
    return tests


class Examples(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreater(sum(bool(test.examples) for module in (cudaenc, cudaenc.mp4) for test in doctest.DocTestFinder().find(module)), 6)
