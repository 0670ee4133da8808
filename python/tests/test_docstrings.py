# SPDX-License-Identifier: LGPL-2.1-or-later
"""Examples in docstrings, and README's first one."""
import contextlib
import doctest
import importlib.metadata
import os
import tempfile
import unittest

import av
import cudaenc
import cudaenc.mp4


def load_tests(loader, tests, pattern):
    for module in cudaenc, cudaenc.mp4:
        tests.addTests(doctest.DocTestSuite(module))
    return tests


class Examples(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreater(sum(bool(test.examples) for module in (cudaenc, cudaenc.mp4) for test in doctest.DocTestFinder().find(module)), 6)

    def test_the_first_ten_lines_make_a_video(self):
        try:
            readme = importlib.metadata.metadata("cudaenc").get_payload()
        except importlib.metadata.PackageNotFoundError:
            self.skipTest("the package is not installed")
        lines = [line[4:] for line in readme.strip().splitlines()[:10] if line.startswith("    ") and "pip install" not in line]
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as end:
            end.callback(os.chdir, before)
            os.chdir(folder)
            exec("\n".join(lines), {})
            with av.open("out.mp4") as film:
                self.assertEqual([(frame.width, frame.height) for frame in film.decode(video=0)], [(1280, 720)] * 48)
