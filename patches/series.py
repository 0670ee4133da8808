#!/usr/bin/env python3
"""Writes patches for `git am`, from what hooks.py says and an FFmpeg tree, with the codecs in it or without.

Usage: series.py [--author="NAME <ADDRESS>"] fork|upstream TREE FOLDER

  fork      all of it: the codecs with their documentation; the tests with their references; what goes beyond the codecs
  upstream  what FFmpeg itself would take: the codecs, without the references; a version bump

The same tree gives the same patches. SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import hooks

AUTHOR = 'cudaenc <cudaenc@example.org>'
DATE = '2026-11-24T00:00:00Z'
CODECS = ('avcodec: add CUDA codecs that use libcudaenc',
          'Encoders of JPEG 2000 (j2k_cuda), Motion JPEG (mjpeg_cuda) and all-intra H.264\n'
          'with CAVLC (h264_cavlc_cuda), and a decoder of JPEG (mjpeg_cuda). They take and\n'
          'make CUDA frames and software frames, and run on the CPU where there is no GPU.')
TESTS = ('fate: add tests of the CUDA codecs',
         'The references hold for the GPU and for the CPU.')
EXTRAS = ('avcodec, avformat, avutil: JPEG 2000 in MXF, clips of HTJ2K',
          'Packed and CUDA frames, RGB and XYZ have right descriptors, and the label of the\n'
          'essence follows the profile. Of JP2 files the codestream becomes essence. Files\n'
          'whose name and contents disagree are warned of. .jph and .jhc are names of\n'
          'JPEG 2000. An option without such a value says which it has. The decoder\n'
          'reads all frames of HTJ2K clips. Optional: the codecs need none of it.')
NEWS = '- JPEG 2000, Motion JPEG and H.264 encoders and a JPEG decoder on CUDA, via libcudaenc\n'


def changelog(tree):
    """The line of news at the end of the next version's, or in a section for it."""
    text = hooks.read(f'{tree}/Changelog')
    first = re.search(r'^version (\S+):\n', text, re.MULTILINE)
    if first[1] != '<next>':
        return text[:first.start()] + f'version <next>:\n{NEWS}\n\n' + text[first.start():]
    end = text.index('\n\n', first.end()) + 1
    return text[:end] + NEWS + text[end:]


def version_bump(tree):
    text = hooks.read(f'{tree}/libavcodec/version.h')
    text = re.sub(r'(LIBAVCODEC_VERSION_MINOR +)(\d+)', lambda m: f'{m[1]}{int(m[2]) + 1:>{len(m[2])}}', text, count=1)
    return re.sub(r'(LIBAVCODEC_VERSION_MICRO +)\d+', r'\g<1>100', text, count=1)


def steps(kind, tree, before):
    """Of each patch its subject, its message, and the contents of the files that it changes or adds."""
    codecs, _ = hooks.edited(tree, hooks.BUILD + hooks.DOC, before)
    tests, _ = hooks.edited(tree, hooks.TESTS, before)
    optional = hooks.extras_of(tree, hooks.noted(tree))
    extras, _ = hooks.edited(tree, optional, before)
    codecs = {file: codecs[file] for file in {hook.file for hook in hooks.BUILD + hooks.DOC}}
    tests = {file: tests[file] for file in {hook.file for hook in hooks.TESTS}}
    codecs |= {file: hooks.read(source) for file, source in hooks.glue().items()} | {'Changelog': changelog(tree)}
    if kind == 'upstream':
        return [(*CODECS, codecs | {'libavcodec/version.h': version_bump(tree)})]
    return [(*CODECS, codecs), (*TESTS, tests | {file: hooks.read(source) for file, source in hooks.tests().items()}),
            (*EXTRAS, {file: extras[file] for file in {hook.file for hook in optional}})]


def write_series(kind, tree, folder, author):
    name, address = re.fullmatch(r'(.+) <(.+)>', author).groups()
    environment = os.environ | {f'GIT_{who}_{what}': value for who in ('AUTHOR', 'COMMITTER') for what, value in
                                (('NAME', name), ('EMAIL', address), ('DATE', DATE))} | \
        {'GIT_CONFIG_GLOBAL': os.devnull, 'GIT_CONFIG_SYSTEM': os.devnull}
    with tempfile.TemporaryDirectory() as repository:
        def git(*arguments):
            return subprocess.run(['git', '-C', repository, *arguments], env=environment, check=True, text=True,
                                  capture_output=True).stdout

        git('init', '--quiet')
        note = hooks.noted(tree)
        before = hooks.without_hooks(tree, note)
        series = steps(kind, tree, before)
        for file in {file for _, _, contents in series for file in contents} - set(note['files']):
            if os.path.isfile(f'{tree}/{file}'):
                hooks.write(f'{repository}/{file}', before.get(file) or hooks.read(f'{tree}/{file}'))
                os.chmod(f'{repository}/{file}', os.stat(f'{tree}/{file}').st_mode)
        git('add', '--all')
        git('commit', '--quiet', '--message=FFmpeg')
        for subject, message, contents in series:
            for file, text in contents.items():
                hooks.write(f'{repository}/{file}', text)
            git('add', '--all', '--force')
            git('commit', '--quiet', f'--message={subject}\n\n{message}')
        os.makedirs(folder, exist_ok=True)
        return git('format-patch', '--quiet', '--zero-commit', '--no-signature', '--full-index', '--no-renames',
                   f'-{len(series)}', f'--output-directory={os.path.abspath(folder)}')


def main():
    author = AUTHOR
    arguments = sys.argv[1:]
    if arguments and arguments[0].startswith('--author='):
        author = arguments.pop(0).removeprefix('--author=')
    if len(arguments) != 3 or arguments[0] not in ('fork', 'upstream') or not re.fullmatch(r'.+ <.+>', author):
        sys.exit('usage: series.py [--author="NAME <ADDRESS>"] fork|upstream TREE FOLDER')
    kind, tree, folder = arguments
    try:
        hooks.branch_of(tree)
        write_series(kind, tree, folder, author)
    except hooks.Refused as error:
        sys.exit(f'series: {error}')


if __name__ == '__main__':
    main()
