#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes patches for `git am`, from what hooks.py says and an FFmpeg tree, with the codecs in it or without.

Usage: series.py [--author="NAME <ADDRESS>"] fork|upstream TREE FOLDER

  fork      all of it: the codecs with their documentation; the tests with their references; what goes beyond the codecs
  upstream  what FFmpeg itself would review: a patch a codec, each with its documentation, a version bump and the rates
            that docs/benchmarks.md has; without conditions on other versions, and without the references

The same tree gives the same patches.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from typing import NamedTuple

import conditions
import hooks

AUTHOR = 'cudaenc <cudaenc@example.org>'
DATE = '2026-11-24T00:00:00Z'
CODECS = ('avcodec: add CUDA codecs that use libcudaenc',
          'Encoders of JPEG 2000 (j2k_cuda), Motion JPEG (mjpeg_cuda) and all-intra H.264\n'
          'with CAVLC (h264_cavlc_cuda), and decoders of JPEG (mjpeg_cuda) and JPEG 2000\n'
          '(j2k_cuda). They take and make CUDA frames and software frames, and run on the\n'
          'CPU where there is no GPU. A bitstream filter (j2k_recode) makes HTJ2K of JPEG\n'
          '2000 Part 1, and Part 1 of HTJ2K.')
TESTS = ('fate: add tests of the CUDA codecs',
         'The references hold for the GPU and for the CPU.')
EXTRAS = ('avcodec, avformat, avutil: JPEG 2000 in MXF, clips of HTJ2K',
          'Packed and CUDA frames, RGB and XYZ have right descriptors, and the label of the\n'
          'essence follows the profile. Of JP2 files the codestream becomes essence. Files\n'
          'whose name and contents disagree are warned of. .jph and .jhc are names of\n'
          'JPEG 2000. An option without such a value says which it has. The decoder\n'
          'reads all frames of HTJ2K clips. Optional: the codecs need none of it.')
NEWS = '- JPEG 2000, Motion JPEG and H.264 encoders, JPEG 2000 and JPEG decoders on CUDA, via libcudaenc\n'


class Codec(NamedTuple):
    """A patch of the series for upstream. Files that no codec names are the first one's."""
    name: str  # with its kind, as configure has it
    subject: str
    message: str
    news: str
    files: tuple
    rates: str  # a regular expression of rows of README's first table, or of benchmarks.md


UPSTREAM = [
    Codec('j2k_cuda_encoder', 'avcodec: add JPEG 2000 encoder on CUDA via libcudaenc',
          'It codes Part 1 and Part 15 (HTJ2K) of ISO/IEC 15444. CUDA frames stay in GPU\n'
          'memory. Where there is no GPU it runs on the CPU, with the same bytes. libcudaenc\n'
          'opens the driver at run time, so that nothing links with CUDA.',
          'JPEG 2000 encoder on CUDA via libcudaenc (j2k_cuda)', ('j2kenc_cuda.c',), r'JPEG 2000, .*'),
    Codec('mjpeg_cuda_encoder', 'avcodec: add MJPEG encoder on CUDA via libcudaenc',
          'Baseline JPEG with optimal or standard Huffman tables.',
          'MJPEG encoder on CUDA via libcudaenc (mjpeg_cuda)', ('mjpegenc_cuda.c',), r'JPEG, .*'),
    Codec('h264_cavlc_cuda_encoder', 'avcodec: add H.264 intra encoder on CUDA via libcudaenc',
          'All-intra H.264 with CAVLC, for GPUs that have no encoder of their own.',
          'all-intra H.264 encoder on CUDA via libcudaenc (h264_cavlc_cuda)', ('h264enc_cavlc_cuda.c',), r'H\.264.*'),
    Codec('mjpeg_cuda_decoder', 'avcodec: add MJPEG decoder on CUDA via libcudaenc',
          'Baseline, extended and progressive JPEG, sample for sample as libjpeg decodes it.',
          'MJPEG decoder on CUDA via libcudaenc (mjpeg_cuda)', ('mjpegdec_cuda.c', 'cudadec_glue.c', 'cudadec_glue.h'),
          r'JPEG decoding, .*'),
    Codec('j2k_cuda_decoder', 'avcodec: add JPEG 2000 decoder via libcudaenc',
          'It decodes Part 1 and Part 15 (HTJ2K) of ISO/IEC 15444.',
          'JPEG 2000 decoder via libcudaenc (j2k_cuda)', ('j2kdec_cuda.c',), r'JPEG 2000 decoding, .*'),
    Codec('j2k_recode_bsf', 'avcodec: add bitstream filter that recodes JPEG 2000',
          'It makes HTJ2K of Part 1, and Part 1 of HTJ2K, by coefficients: no wavelet and\n'
          'no samples.',
          'bitstream filter that recodes JPEG 2000 to HTJ2K via libcudaenc (j2k_recode)', ('j2k_recode_bsf.c',), r'(?!)'),
]


def changelog(tree, news):
    """Lines of news at the end of the next version's, or in a section for it."""
    text = hooks.read(f'{tree}/Changelog')
    first = re.search(r'^version (\S+):\n', text, re.MULTILINE)
    if first[1] != '<next>':
        return text[:first.start()] + f'version <next>:\n{news}\n\n' + text[first.start():]
    end = text.index('\n\n', first.end()) + 1
    return text[:end] + news + text[end:]


def version_bump(tree, by):
    text = hooks.read(f'{tree}/libavcodec/version.h')
    text = re.sub(r'(LIBAVCODEC_VERSION_MINOR +)(\d+)', lambda m: f'{m[1]}{int(m[2]) + by:>{len(m[2])}}', text, count=1)
    return re.sub(r'(LIBAVCODEC_VERSION_MICRO +)\d+', r'\g<1>100', text, count=1)


def rates(codec):
    """What was measured of it, from README's first table, or from the rates of H.264 in benchmarks.md."""
    lines = []
    for row in re.findall(r'^\| (.*) \|$', hooks.read(f'{hooks.ROOT}/README.md'), re.MULTILINE):
        cells = row.split(' | ')
        if len(cells) == 8 and re.fullmatch(codec.rates, cells[0]):
            lines.append(f'{cells[0]}: {cells[4]} frames/s on one {cells[1]}, {cells[5]} {cells[6]}.')
    table = re.search(r'<!-- table h264-effort-0 -->([\s\S]*?)<!-- end -->', hooks.read(f'{hooks.ROOT}/docs/benchmarks.md'))
    if re.fullmatch(codec.rates, 'H.264') and table:
        for size, single, many in re.findall(r'^\| (\S+) \| 22 \| 1 \| \S+ \| (\S+) \| (\S+) \|', table[1], re.MULTILINE):
            lines.append(f'QP 22, {size}: {single} frames/s alone, {many} with many in flight, on one NVIDIA H200.')
    return '\n'.join(textwrap.fill(line, 80) for line in lines)


def upstream(tree, before):
    """A patch a codec. A hook's lines that name no codec, or one that is there, are in; so are sections of documentation."""
    sources = conditions.without_compat({file: hooks.read(source) for file, source in hooks.glue().items()}, tree, hooks.read)
    of_codecs = {name for codec in UPSTREAM for name in codec.files}
    for number, codec in enumerate(UPSTREAM, 1):
        there = UPSTREAM[:number]

        def is_there(line):
            named = re.search(r'(h264_cavlc|j2k|mjpeg)_cuda_(?:en|de)coder|j2k_recode_bsf', line, re.IGNORECASE)
            return not named or named[0].lower() in {c.name for c in there}

        def part(hook):
            text = hook.text
            if hook in hooks.DOC:
                kind = hook.file.removeprefix('doc/').removesuffix('s.texi').replace('bitstream_filter', 'bsf')
                sections = re.split(r'(?=^@section )', text, flags=re.MULTILINE)
                text = ''.join(s for s in sections if f'{s.split(chr(10))[0].removeprefix("@section ")}_{kind}' in
                               {c.name for c in there})
            else:
                text = ''.join(line for line in text.splitlines(True) if is_there(line)).replace('cudaenc_compat.h ', '')
            return hook._replace(text=text)

        parts = [part(hook) for hook in hooks.BUILD + hooks.DOC]
        contents, _ = hooks.edited(tree, [hook for hook in parts if hook.text], before)
        contents = {file: contents[file] for file in {hook.file for hook in parts if hook.text}}
        for file, text in sources.items():
            name = os.path.basename(file)
            if name in codec.files or (number == 1 and name not in of_codecs):
                contents[file] = text
        contents |= {'Changelog': changelog(tree, ''.join(f'- {c.news}\n' for c in there)),
                     'libavcodec/version.h': version_bump(tree, number)}
        yield codec.subject, f'{codec.message}\n\n{rates(codec)}'.strip(), contents


def steps(kind, tree, before):
    """Of each patch its subject, its message, and the contents of the files that it changes or adds."""
    if kind == 'upstream':
        return list(upstream(tree, before))
    codecs, _ = hooks.edited(tree, hooks.BUILD + hooks.DOC, before)
    tests, _ = hooks.edited(tree, hooks.TESTS, before)
    optional, _ = hooks.optional(tree, before)
    extras, _ = hooks.edited(tree, optional, before)
    codecs = {file: codecs[file] for file in {hook.file for hook in hooks.BUILD + hooks.DOC}}
    tests = {file: tests[file] for file in {hook.file for hook in hooks.TESTS}}
    codecs |= {file: hooks.read(source) for file, source in hooks.glue().items()} | {'Changelog': changelog(tree, NEWS)}
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
