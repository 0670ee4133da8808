#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What patches/hooks.py does to a tree that its user works in, or that is between two releases. TREE has FFmpeg's sources;
of them a small tree is made. Usage: hooks_test.py TREE   Ends in "N passed, N failed"."""
import contextlib
import io
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'patches'))
import extras  # noqa: E402
import hooks  # noqa: E402

SOURCE = sys.argv.pop()
GLUE = 'libavcodec/j2kenc_cuda.c'
FILES = {hook.file for hook in hooks.BUILD + hooks.DOC + hooks.TESTS} | {
    extras.MXF, extras.IMAGE, extras.NAMES, extras.PROBE, extras.OPTIONS, extras.DECODER, 'libavcodec/version_major.h'}


class Hooks(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        before = hooks.without_hooks(SOURCE, hooks.noted(SOURCE))
        for file in FILES:
            self.write(file, before.get(file) or hooks.read(f'{SOURCE}/{file}'))
        self.write('RELEASE', '7.1.git\n')
        self.pristine = self.contents()

    def write(self, file, text):
        path = self.tree / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')

    def edit(self, file, pattern, text):
        old = hooks.read(self.tree / file)
        new = re.sub(pattern, text, old)
        self.assertNotEqual(old, new)
        self.write(file, new)

    def contents(self):
        return {str(path.relative_to(self.tree)): path.read_bytes() for path in self.tree.rglob('*') if path.is_file()}

    def run_hooks(self, *options):
        """Status, and all that is said."""
        said, sys.argv = io.StringIO(), ['hooks.py', *options, str(self.tree)]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                hooks.main()
            except SystemExit as error:
                return 1, said.getvalue() + str(error.code)
        return 0, said.getvalue()

    def test_goes_in_and_out(self):
        status, said = self.run_hooks()
        self.assertEqual((status, 'warning' in said), (0, False), said)
        self.assertIn(GLUE, self.contents())
        self.assertEqual(self.run_hooks('--undo')[0], 0)
        self.assertEqual(self.contents(), self.pristine)

    def test_an_edited_file_is_kept(self):
        self.run_hooks()
        self.write(GLUE, 'mine')
        status, said = self.run_hooks('--undo')
        self.assertEqual(status, 0)
        self.assertIn(f'but for {GLUE}: edited, so kept', said)
        self.assertEqual(self.contents(), self.pristine | {GLUE: b'mine'})

    def test_an_edited_file_is_not_overwritten(self):
        self.run_hooks()
        self.write(GLUE, 'mine')
        before = self.contents()
        for option in [], ['--dry-run']:
            status, said = self.run_hooks(*option)
            self.assertEqual(status, 1)
            self.assertIn(f'{GLUE} in {self.tree}: edited since it went in', said)
            self.assertEqual(self.contents(), before)

    def test_a_note_without_digests(self):
        self.run_hooks()
        note = hooks.noted(self.tree)
        self.write(hooks.NOTE, hooks.json.dumps(note | {'files': list(note['files'])}))
        self.write(GLUE, 'mine')
        self.assertIn('edited, so kept', self.run_hooks('--undo')[1])

    def test_a_tree_between_releases(self):
        self.edit(extras.MXF, r'AVRational aspect_ratio; ///< display', 'AVRational ratio; ///< display')
        self.edit(extras.NAMES, 'j2k', 'jay')
        self.pristine = self.contents()
        for option in ['--dry-run'], []:
            status, said = self.run_hooks(*option)
            self.assertEqual(status, 0, said)
            self.assertEqual(said.count('warning: a part beyond the codecs is left out: libavformat'), 1, said)
        self.assertEqual(self.contents()[extras.MXF], self.pristine[extras.MXF])
        self.assertIn(b'libcudaenc', self.contents()['configure'])
        self.assertNotIn('warning', self.run_hooks('--codecs-only')[1])
        self.run_hooks('--undo')
        self.assertEqual(self.contents(), self.pristine)

    def test_mxf_without_subdescriptors(self):
        """6.1 has the RGBA descriptor, and not yet what describes JPEG 2000."""
        names = 'JPEG2000SubDescriptor', 'will_have_jpeg2000_tags'
        for name in names:
            self.edit(extras.MXF, name, 'Other')
        status, said = self.run_hooks()
        self.assertEqual((status, 'warning' in said), (0, False), said)
        mxf = self.contents()[extras.MXF].decode()
        self.assertIn('mxf_describe_jpeg2000', mxf)
        self.assertEqual([name for name in names if name in mxf], [])

    def test_a_list_that_is_not_found(self):
        self.edit('libavcodec/allcodecs.c', 'ff_h264_cuvid_decoder', 'ff_h264_other_decoder')
        before = self.contents()
        status, said = self.run_hooks()
        self.assertEqual(status, 1)
        self.assertIn('libavcodec/allcodecs.c has 0 lines', said)
        self.assertEqual(self.contents(), before)

    def test_libraries_later_than_the_last_release(self):
        self.edit('libavcodec/version_major.h', r'(MAJOR +)\d+', r'\g<1>64')
        os.remove(self.tree / 'RELEASE')
        self.assertEqual(self.run_hooks('--branch'), (0, hooks.BRANCHES[-1] + '\n'))
        self.edit('libavcodec/version_major.h', r'(MAJOR +)\d+', r'\g<1>58')
        self.assertIn('libavcodec 58 is not supported', self.run_hooks('--branch')[1])


if __name__ == '__main__':
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f'{result.testsRun - bad} passed, {bad} failed')
    sys.exit(bool(bad))
