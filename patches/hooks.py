#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes an FFmpeg tree know the codecs, and how it goes in and out again.

Usage: hooks.py [--branch | --dry-run | --undo | --link] [--codecs-only] TREE

Lines go into the lists of FFmpeg's own files; the glue, the tests and their references become files of the tree, with
--link links to them. --branch prints which FFmpeg it is. All of it goes in, or nothing: where a list is not found, one
line says which. A second run changes nothing. What went in is noted in TREE/.cudaenc, which --undo reads. A file of ours
that was edited there is kept: --undo says so, and a second run refuses. --codecs-only leaves out what is optional, see
extras.py; of it, what a tree has no place for is left out with a warning.
"""
import glob
import hashlib
import json
import os
import re
import sys
from typing import NamedTuple

import extras

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOTE = '.cudaenc'
BRANCHES = ('5.1', '7.1', '8.1', '9.0')  # whose releases the tests build


class Hook(NamedTuple):
    file: str
    before: str  # a regular expression: the one line that the text precedes
    text: str
    replaces: bool = False  # what the expression matches


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def lines(*all_lines):
    return ''.join(line + '\n' for line in all_lines)


# The sorted lists of FFmpeg. The lines that follow ours are in every branch.
BUILD = [
    Hook('configure', r'  --enable-libdav1d ', lines('  --enable-libcudaenc      enable codecs on CUDA via libcudaenc [no]')),
    Hook('configure', r'    libdav1d$', lines('    libcudaenc')),
    Hook('configure', r'libdav1d_decoder_deps=', lines(
        'h264_cavlc_cuda_encoder_deps="libcudaenc"',
        'j2k_cuda_decoder_deps="libcudaenc"',
        'j2k_cuda_encoder_deps="libcudaenc"',
        'j2k_recode_bsf_deps="libcudaenc"',
        'mjpeg_cuda_decoder_deps="libcudaenc"',
        'mjpeg_cuda_encoder_deps="libcudaenc"')),
    Hook('configure', r'enabled libdav1d +&&', lines(
        'enabled libcudaenc        && require_pkg_config libcudaenc "libcudaenc >= 0.2.0" cudaenc.h cudaenc_summary')),
    Hook('libavcodec/Makefile', r'OBJS-\$\(CONFIG_LIBDAV1D_DECODER\)', lines(
        'OBJS-$(CONFIG_H264_CAVLC_CUDA_ENCODER)    += h264enc_cavlc_cuda.o cudaenc_glue.o',
        'OBJS-$(CONFIG_J2K_CUDA_DECODER)           += j2kdec_cuda.o cudadec_glue.o cudaenc_glue.o exif.o tiff_common.o',
        'OBJS-$(CONFIG_J2K_CUDA_ENCODER)           += j2kenc_cuda.o cudaenc_glue.o',
        'OBJS-$(CONFIG_J2K_RECODE_BSF)             += j2k_recode_bsf.o cudaenc_glue.o',
        'OBJS-$(CONFIG_MJPEG_CUDA_DECODER)         += mjpegdec_cuda.o cudadec_glue.o cudaenc_glue.o exif.o tiff_common.o',
        'OBJS-$(CONFIG_MJPEG_CUDA_ENCODER)         += mjpegenc_cuda.o cudaenc_glue.o')),
    Hook('libavcodec/Makefile', r'SKIPHEADERS-\$\(CONFIG_LIBJXL\)', lines(
        'SKIPHEADERS-$(CONFIG_LIBCUDAENC)       += cudaenc_compat.h cudaenc_glue.h',
        'SKIPHEADERS-$(CONFIG_MJPEG_CUDA_DECODER) += cudadec_glue.h')),
    Hook('libavcodec/allcodecs.c', r'extern const FFCodec ff_h264_cuvid_decoder;', lines(
        'extern const FFCodec ff_h264_cavlc_cuda_encoder;')),
    Hook('libavcodec/allcodecs.c', r'extern const FFCodec ff_libkvazaar_encoder;', lines(
        'extern const FFCodec ff_j2k_cuda_encoder;',
        'extern const FFCodec ff_j2k_cuda_decoder;')),
    Hook('libavcodec/allcodecs.c', r'extern const FFCodec ff_mjpeg_cuvid_decoder;', lines(
        'extern const FFCodec ff_mjpeg_cuda_encoder;',
        'extern const FFCodec ff_mjpeg_cuda_decoder;')),
    Hook('libavcodec/bitstream_filters.c', r'extern const FFBitStreamFilter ff_mjpeg2jpeg_bsf;', lines(
        'extern const FFBitStreamFilter ff_j2k_recode_bsf;')),
]
DOC = [
    Hook('doc/bitstream_filters.texi', r'@section mjpeg2jpeg', read(f'{ROOT}/patches/doc/bitstream_filters.texi') + '\n'),
    Hook('doc/decoders.texi', r'@section QSV Decoders', read(f'{ROOT}/patches/doc/decoders.texi') + '\n'),
    Hook('doc/encoders.texi', r'@section jpeg2000', read(f'{ROOT}/patches/doc/encoders.texi') + '\n'),
]
TESTS = [
    Hook('tests/Makefile', r'include \$\(SRC_PATH\)/tests/fate/libavcodec\.mak', lines(
        'include $(SRC_PATH)/tests/fate/h264_cavlc_cuda.mak',
        'include $(SRC_PATH)/tests/fate/j2k_cuda.mak',
        'include $(SRC_PATH)/tests/fate/mjpeg_cuda.mak')),
]


def glue():
    """Files of the tree, and ours that they are."""
    return {'libavcodec/' + os.path.basename(file): file for file in sorted(glob.glob(f'{ROOT}/libavcodec_ext/*.[ch]'))}


def tests():
    files = {'tests/fate/' + os.path.basename(file): file for file in glob.glob(f'{ROOT}/fate_tests/fate/*.mak')}
    files |= {'tests/' + os.path.basename(file): file for file in glob.glob(f'{ROOT}/fate_tests/fate/*.c')}
    for folder, _, names in os.walk(f'{ROOT}/fate_tests/ref'):
        inside = os.path.relpath(folder, f'{ROOT}/fate_tests')
        files |= {f'tests/{inside}/{name}': f'{folder}/{name}' for name in names}
    return dict(sorted(files.items()))


class Refused(Exception):
    pass


def branch_of(tree):
    """The branch of a tree: RELEASE tells, or in a development tree libavcodec's version."""
    if not os.path.isfile(f'{tree}/configure') or not os.path.isfile(f'{tree}/libavcodec/allcodecs.c'):
        raise Refused(f'{tree} is no FFmpeg source tree')
    major = re.search(r'LIBAVCODEC_VERSION_MAJOR +(\d+)', read(f'{tree}/libavcodec/version_major.h')
                      if os.path.isfile(f'{tree}/libavcodec/version_major.h') else '')
    if not major or int(major[1]) < 59:
        raise Refused(f'{tree}: libavcodec {major[1] if major else "before 59"} is not supported; there are FFmpeg '
                      f'{BRANCHES[0]} to {BRANCHES[-1]}')
    by_library = {'59': '5.1', '60': '6.1', '61': '7.1', '62': '8.1'}.get(major[1], BRANCHES[-1])
    release = re.match(r'\d+\.\d+', read(f'{tree}/RELEASE')) if os.path.isfile(f'{tree}/RELEASE') else None
    return release[0] if release else by_library


def edited(tree, hooks, contents):
    """The contents of the files with the hooks in them, and notes of them: file, text, what it replaced.
    Throws Refused where a line is not found, or found twice."""
    contents, notes = dict(contents), []
    for hook in hooks:
        text, replaced = contents.get(hook.file) or read(f'{tree}/{hook.file}'), ''
        if hook.text not in text:
            found = list(re.finditer('^' + hook.before, text, re.MULTILINE))
            if len(found) != 1:
                raise Refused(f'{hook.file} has {len(found)} lines /{hook.before}/, and one is needed')
            start = found[0].start()
            replaced = found[0][0] if hook.replaces else ''
            text = text[:start] + hook.text + text[start + len(replaced):]
        contents[hook.file] = text
        notes.append((hook.file, hook.text, replaced))
    return contents, notes


def write(path, text):
    if os.path.isfile(path) and not os.path.islink(path) and read(path) == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write(text)
    if os.path.exists(path):
        os.chmod(path + '.new', os.stat(path).st_mode)
    os.replace(path + '.new', path)


def place(path, source, link):
    """Links keep one copy to edit; a fork wants files that it can commit."""
    if link:
        if not os.path.islink(path) or os.readlink(path) != source:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path):
                os.remove(path)
            os.symlink(source, path)
    else:
        if os.path.islink(path):
            os.remove(path)
        write(path, read(source))


def noted(tree):
    return json.loads(read(f'{tree}/{NOTE}')) if os.path.isfile(f'{tree}/{NOTE}') else {'hooks': [], 'files': {}}


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def edited_files(tree, note):
    """Files that went in and have other contents now. A note of an earlier version has no digests: then those that are not
    as ours are today."""
    ours = glue() | tests()
    digests = note['files'] if isinstance(note['files'], dict) else {
        file: digest(ours[file]) if file in ours else None for file in note['files']}
    return [file for file, was in digests.items()
            if os.path.isfile(f'{tree}/{file}') and not os.path.islink(f'{tree}/{file}') and digest(f'{tree}/{file}') != was]


def without_hooks(tree, note):
    """The contents of the hooked files without what the note says went in."""
    contents = {}
    for file, text, *replaced in note['hooks']:
        rest = contents.get(file) or read(f'{tree}/{file}')
        if rest.count(text) != 1:
            raise Refused(f'{file} has changed where the hooks are; take them out by hand, and {NOTE} as well')
        contents[file] = rest.replace(text, ''.join(replaced))
    return contents


def remove(tree, files):
    for file in files:
        if os.path.lexists(f'{tree}/{file}'):
            os.remove(f'{tree}/{file}')


def undo(tree):
    """Returns the files that are kept, since they were edited."""
    note = noted(tree)
    for file, text in without_hooks(tree, note).items():
        write(f'{tree}/{file}', text)
    kept = edited_files(tree, note)
    remove(tree, set(note['files']) - set(kept) | {NOTE})
    return kept


def optional(tree, before):
    """The optional hooks that fit the tree, file by file, and why others do not. before: contents without any hooks."""
    fit, misfits = [], []
    try:
        hooks = extras.hooks(lambda file: before.get(file) or read(f'{tree}/{file}'), Hook)
    except (OSError, ValueError) as error:
        return [], [str(error)]
    for file in dict.fromkeys(hook.file for hook in hooks):
        of_file = [hook for hook in hooks if hook.file == file]
        try:
            edited(tree, of_file, before)
            fit += of_file
        except Refused as error:
            misfits.append(str(error))
    return fit, misfits


def plan(tree, with_extras):
    """What apply() would write and note."""
    old = noted(tree)
    kept = edited_files(tree, old) if isinstance(old['files'], dict) else []
    if kept:
        raise Refused(f'{", ".join(kept)} in {tree}: edited since it went in; move it away, or put the changes into cudaenc')
    before = without_hooks(tree, old)
    hooks, misfits = optional(tree, before) if with_extras else ([], [])
    changed, notes = edited(tree, BUILD + DOC + TESTS + hooks, before)
    if misfits:
        print(f'hooks: warning: a part beyond the codecs is left out: {"; ".join(misfits)}', file=sys.stderr)
    return old, before | changed, notes, len(changed)


def apply(tree, link, with_extras):
    files = glue() | tests()
    old, contents, notes, _ = plan(tree, with_extras)
    for file, text in contents.items():
        write(f'{tree}/{file}', text)
    remove(tree, set(old['files']) - set(files))
    for file, source in files.items():
        place(f'{tree}/{file}', source, link)
    digests = {file: '' if link else digest(source) for file, source in files.items()}
    write(f'{tree}/{NOTE}', json.dumps({'hooks': notes, 'files': digests}))


def main():
    options, names = [a for a in sys.argv[1:] if a.startswith('-')], [a for a in sys.argv[1:] if not a.startswith('-')]
    with_extras = '--codecs-only' not in options
    options = set(options) - {'--codecs-only'}
    if len(names) != 1 or len(options) > 1 or not options <= {'--branch', '--dry-run', '--undo', '--link'}:
        sys.exit('usage: hooks.py [--branch | --dry-run | --undo | --link] [--codecs-only] TREE')
    tree = names[0]
    try:
        branch = branch_of(tree)
        if '--branch' in options:
            print(branch)
        elif '--undo' in options:
            if not os.path.isfile(f'{tree}/{NOTE}'):
                raise Refused(f'{tree} has no {NOTE}: nothing is to be undone')
            kept = undo(tree)
            print(f'hooks: FFmpeg {branch}: {tree} is as it was' + (f', but for {", ".join(kept)}: edited, so kept' if kept else ''))
        elif '--dry-run' in options:
            print(f'hooks: FFmpeg {branch}: {plan(tree, with_extras)[-1]} files would be edited, {len(glue() | tests())} added')
        else:
            apply(tree, '--link' in options, with_extras)
            print(f'hooks: FFmpeg {branch}: the codecs are in {tree}')
    except Refused as error:
        sys.exit(f'hooks: {error}')


if __name__ == '__main__':
    main()
