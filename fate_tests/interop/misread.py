# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a decoder gets wrong: the smallest streams of j2k_cuda that show it, each read rightly by another decoder. The encoder warns of
those that FFmpeg's decoder and OpenJPEG misread, and docs/encoders.md has them all in its table. A decoder that has become better
is told of in a note, which is no failure.

usage: misread.py FFMPEG_BUILD
matrix.sh FFMPEG_BUILD misread builds the program that encodes and decodes, and runs this.
"""
import os
import sys
import tempfile

from decoders import HAVE_GROK, Case, Failure, warned
from matrix import Program, from_grok

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/encoders.md')
NAMES = {'jpeg2000': 'FFmpeg', 'openjpeg': 'OpenJPEG', 'grok': 'Grok'}


def changes_of_resolutions(levels):
    changes = '/'.join(f'{r},0,1,{r + 1},1,lrcp' for r in range(levels + 1))
    return f'gray 8x8 noise 1 pred=dwt53 levels={levels} poc={changes}'


# What fails, as the table has it; who misreads it; who reads it, if any; the line for the program, without its number and tasks.
CASES = (
    ('`bypass` with `roi`', 'openjpeg', 'jpeg2000', 'gray 8x8 noise 1 pred=dwt53 levels=1 roi=0,0,4,4 cblk_style=bypass'),
    ('precincts of 2^31 in RPCL, PCRL or CPRL', 'openjpeg', 'jpeg2000', 'gray 16x16 noise 1 pred=dwt53 levels=16 prog=rpcl'),
    ('4:4:0 of more than 8 bits', 'jpeg2000', 'openjpeg', 'yuv440p10le 8x8 noise 1 pred=dwt53'),
    ('XYZ without a profile of digital cinema', 'jpeg2000', 'openjpeg', 'xyz12le 8x8 noise 1 pred=dwt53'),
    ('quantiser steps above 65535', 'jpeg2000', 'openjpeg', 'gray16le 33x33 extremes 1 pred=dwt97 quality=2 levels=1'),
    ('quantiser steps above 65535', 'jpeg2000', 'openjpeg',
     'gray16le 33x33 extremes 1 pred=dwt97 quality=3 levels=1 cblk_style=ht compression_ratio=8'),
    ('a component without a sample in a tile', 'jpeg2000', 'openjpeg', 'yuv420p 3x2 noise 1 pred=dwt53 levels=0 tile_width=1'),
    ('offsets with a component without a sample in a tile', 'openjpeg', 'grok',
     'yuv420p 10x15 noise 1 pred=dwt53 levels=1 tile_width=3 x_offset=28 tile_x_offset=28'),
    ('offsets of 20000', 'jpeg2000', 'openjpeg', 'gray 8x8 noise 1 pred=dwt53 x_offset=20000 y_offset=20000'),
    ('CPRL where a resolution begins with a precinct and its tile before it', 'jpeg2000', 'openjpeg',
     'gray 8x8 noise 1 pred=dwt53 levels=1 prog=cprl tile_width=3 precincts=4x4,2x2'),
    ('RPCL where that resolution is empty in the tile', 'jpeg2000', 'openjpeg',
     'gray 4x2 noise 1 pred=dwt53 levels=1 prog=rpcl tile_width=3 tile_height=1 precincts=2x32,4x1'),
    ('more than 31 progression order changes', 'openjpeg', 'jpeg2000', changes_of_resolutions(31)),
    ('more than 32 progression order changes', 'jpeg2000', None, changes_of_resolutions(32)),
    ('more than 32 progression order changes', 'grok', None, changes_of_resolutions(32)),
    ('a progression order change to PCRL or CPRL with precincts of 2^31 only', 'jpeg2000', 'grok',
     'gray 8x8 noise 1 pred=dwt53 levels=16 poc=0,0,1,1,1,cprl/1,0,1,17,1,lrcp'),
    ('more than 32 tile-parts in a tile', 'jpeg2000', 'openjpeg',
     'yuv444p 8x8 noise 1 pred=dwt53 levels=10 tile_parts=resolution+component'),
    ('more than 255 tile-parts in a TLM marker segment', 'jpeg2000', 'openjpeg',
     'gray 16x16 noise 1 pred=dwt53 levels=0 tile_width=1 tile_height=1 tlm=1'),
    ('`roi` of more than 24 bit-planes', 'grok', 'openjpeg', 'gray12le 8x8 noise 1 pred=dwt53 levels=1 roi=0,0,4,4'),
    ('RPCL with precincts of 2^32', 'grok', 'jpeg2000', 'gray 16x16 noise 1 pred=dwt53 levels=17 prog=rpcl'),
    ('CPRL of alpha behind sub-sampled chroma, with `precincts`', 'grok', 'openjpeg',
     'yuva420p 4x4 noise 1 pred=dwt53 levels=0 prog=cprl precincts=2x2'),
    ('packets that two progression order changes have', 'grok', 'openjpeg',
     'gray 4x8 noise 1 pred=dwt53 levels=1 layers=2 poc=0,0,1,1,1,lrcp/0,0,2,2,1,pcrl'),
    ('`bypass` or `termall` with layers in several tile-parts', 'grok', 'openjpeg',
     'gray 16x16 noise 1 pred=dwt53 levels=1 layers=3 tile_parts=resolution cblk_style=termall'),
    ('5/3 with `cblk_style ht` and a target', 'grok', 'openjpeg',
     'gray 32x32 smooth 1 pred=dwt53 levels=1 cblk_style=ht frame_bytes=400'),
    ('5/3 in tiles that begin at odd positions', 'grok', 'openjpeg', 'gray 3x11 noise 1 pred=dwt53 levels=1 tile_height=3'),
)


def check(number, case, program, table):
    """What is wrong, or None; and a note, or None."""
    what, wrong, right, text = case
    words = [str(number)] + text.split()
    fields = program.ask(' '.join(words[:5] + ['jpeg2000,openjpeg'] + words[5:]))
    if 'refused' in fields:
        return f'refused, {fields["line"]}', None
    picture = Case(words[1], words[2], dict(option.split('=', 1) for option in words[5:]))

    def reads(decoder):
        if decoder == 'grok':
            try:
                return from_grok(words, picture, 'source', program) == 0
            except Failure:
                return False
        if decoder == 'jpeg2000' and ('xyz' in words[1]) != ('xyz' in ''.join(fields['jpeg2000.format'])):
            return False
        return fields[decoder if picture.lossless else 'between'] == ['0'] or (decoder == right and not picture.lossless)
    if wrong != 'grok' and wrong not in warned(fields['line']):
        return f'the encoder says {fields["line"]}', None
    if not any(what in row and NAMES[wrong] in row and (not right or NAMES[right] in row) for row in table):
        return 'no row of docs/encoders.md has it', None
    if 'grok' in (wrong, right) and not HAVE_GROK:
        return None, None
    if right and not reads(right):
        return f'{NAMES[right]} misreads it too', None
    return None, f'{NAMES[wrong]} reads {what}: docs/encoders.md says that it does not' if reads(wrong) else None


def main():
    with open(DOCUMENT, encoding='utf-8') as file:
        table = [line for line in file if line.startswith('|')]
    failed = 0
    with tempfile.TemporaryDirectory() as where:
        program = Program(where)
        for number, case in enumerate(CASES, 1):
            trouble, note = check(number, case, program, table)
            if trouble:
                failed += 1
                print(f'FAILED {case[0]}: {trouble}\n  {case[3]}')
            elif note:
                print('note:', note)
    print(f'{len(CASES) - failed} passed, {failed} failed')
    return 1 if failed else 0


sys.exit(main())
