#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Annexes A and C hold of h264_cavlc_cuda's streams, as h264_rules.py reads them: every rate control over 1000 pictures at all efforts, levels
at their edges, slices; and each rule is found broken where it is.
Ends in a line "N passed, N failed".

usage: h264_limits.py FFMPEG_BUILD [DEVICE]
"""
import copy
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from h264_rules import FACTORS, FILLER, LEVELS, SLICE, Stream, faults
from tally import expect, finish

FFMPEG, DEVICE = sys.argv[1] + '/ffmpeg', (sys.argv[2:] or ['cpu'])[0]
FOLDER = Path(tempfile.mkdtemp())
PROFILES = {66: ('baseline', 'yuv420p'), 77: ('main', 'yuv420p'), 100: ('high', 'yuv420p'), 110: ('high10', 'yuv420p10'),
            122: ('high422', 'yuv422p10'), 44: ('cavlc444', 'yuv444p10'),
            244: ('high444', 'yuv444p10')}


def pictures(width, height, part):
    """Cuts between black, a chart, noise, grain that moves and white, of so many pictures each."""
    rng, luma, chroma = random.Random(1), width * height, bytes([128]) * (width * height // 2)
    chart = bytes(16 + (x // 8 * 29 + y // 8 * 13) % 200 for y in range(height) for x in range(width))
    for n in range(5 * part):
        if n // part == 2:
            yield rng.randbytes(luma * 3 // 2)
        elif n // part == 3:
            grain = rng.randbytes(luma)
            yield bytes((a >> 3) + (3 * x + 2 * n) % 208 for x, a in enumerate(grain)) + chroma
        else:
            yield (bytes([16]) * luma, chart, None, None, bytes([235]) * luma)[n // part] + chroma


def encode(options, size='112x96', part=50, rate='25', pixels='yuv420p', loops=0):
    clip = FOLDER / f'{size}-{part}.yuv'
    if not clip.exists():
        clip.write_bytes(b''.join(pictures(*map(int, size.split('x')), part)))
    done = subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-stream_loop', str(loops), '-f', 'rawvideo', '-video_size', size,
                           '-framerate', rate, '-pixel_format', 'yuv420p', '-i', clip, '-pix_fmt', pixels, '-c:v', 'h264_cavlc_cuda',
                           '-device', DEVICE, *options.split(), '-f', 'h264', '-'], capture_output=True, check=False)
    if done.returncode:
        return done.stderr.decode()
    return Stream(done.stdout)


def check(options, **clip):
    stream = encode(options, **clip)
    found = [stream] if isinstance(stream, str) else faults(stream)
    expect(not found, f'{options} {clip}: {len(found)} faults, {found[:2]}')
    return stream


def long_streams():
    """Every rate control over 1000 pictures, at all efforts; rates of 29.97 and 60 pictures/s, slices, profiles."""
    controls = ('-b:v 300k -maxrate 400k -bufsize 200k -nal-hrd vbr', '-b:v 400k -maxrate 400k -bufsize 400k -nal-hrd vbr',
                '-b:v 400k -bufsize 200k -nal-hrd cbr', '-b:v 500k -bufsize 24k -nal-hrd cbr', '-crf 14 -maxrate 500k -bufsize 100k -nal-hrd vbr',
                '-b:v 400k', '-b:v 400k -maxrate 1500k', '-crf 24', '-qp 18')
    for control in controls:
        for effort in range(4):
            check(f'{control} -effort {effort}', loops=3)
    for rate, other in ('30000/1001', '-slices 3'), ('60', '-aud 1'), ('50', '-s12m_tc 1'):
        for kind in 'vbr', 'cbr':
            limit = '-maxrate 700k' if kind == 'vbr' else ''
            check(f'-b:v 700k {limit} -bufsize 90k -nal-hrd {kind} {other}', rate=rate, loops=3)
    for control in controls:
        for gop in '-g 250', '-g 12 -force_key_frames 3.3,7':
            stream = check(f'{control} {gop}', loops=3)
            keys = [n for n, unit in enumerate(stream.units) if unit.is_idr]
            expect(len(stream.units) == 1000 and 4 <= len(keys) <= 100, f'{control} {gop}: IDR pictures {keys}')
    for control in controls:
        stream = check(f'{control} -g 400 -intra_refresh 9', loops=3)
        points = [unit.recovery for unit in stream.units if unit.recovery is not None]
        expect(len(points) >= 90 and set(points) == {8}, f'{control}: recovery points {points}')
    for number, control in enumerate(controls):
        order = ('tff', 'bff')[number % 2]
        units = check(f'{control} -vf setfield={order} -level 3', loops=3).units
        expect([unit.is_idr for unit in units] == [True, False] * 1000 and units[0].bottoms[0] == (order == 'bff'),
               f'{control}, {order}: {len(units)} fields, {units[0].types}, {units[1].types}')
    for idc, (profile, pixels) in PROFILES.items():
        stream = check(f'-profile {profile} -b:v 900k -bufsize 300k -nal-hrd cbr', pixels=pixels, loops=3)
        expect(stream.sps.profile == idc and len(stream.units) == 1000, f'{profile}: {stream.sps.profile}')
    # A byte a macroblock, headers included.
    for effort in range(4):
        check(f'-crf 20 -maxrate 190080 -bufsize 47520 -nal-hrd vbr -effort {effort}', size='352x288', part=20, rate='60', loops=1)


def edges_of_levels():
    """Rates up to what a level has for NAL units, of noise; sizes and frame rates at their edges; QPs that levels have to raise."""
    for idc, (profile, pixels) in PROFILES.items():
        for level, size, rate in (11, '176x144', '30'), (20, '352x288', '30'), (30, '720x480', '30'):
            for factor in FACTORS[idc]:
                bits = LEVELS[level][3] * factor
                for control in f'-b:v {bits} -bufsize {bits // 4} -nal-hrd cbr', f'-crf 1 -maxrate {bits}', f'-b:v {bits}':
                    check(f'-profile {profile} {control}', size=size, part=3 if level == 30 else 8, rate=rate, pixels=pixels)
        for level, qp in (0, 4), (0, 30), (11, 4), (11, 40):
            check(f'-profile {profile} -qp {qp} -level {level}', size='176x144', part=8, rate='30', pixels=pixels)
    for size, rate in ('176x144', '15'), ('176x144', '172'), ('352x288', '200'), ('720x576', '25'), ('1280x720', '60'), ('1920x1088', '30'):
        for options in '-qp 30', '-qp 30 -profile high10':
            check(options, size=size, part=1, rate=rate)
    for size, rate in ('352x288', '50'), ('720x576', '25'), ('1920x1088', '30'):
        check('-qp 30 -vf setfield=tff', size=size, part=1, rate=rate)
    check('-avcintra-class 100 -avcintra-flavor sony', size='1280x720', part=1, rate='50', pixels='yuv422p10')
    for size in '16x1600', '1600x16':  # slices of narrow pictures
        for profile, slices in (('baseline', 100), ('high', 1), ('high', 11), ('high', 100)):
            stream = encode(f'-qp 40 -level 3 -profile {profile} -slices {slices}', size=size, part=1)
            expect('slices' in stream if isinstance(stream, str) else not faults(stream), f'{size} in {slices} slices, {profile}: {stream}')


def grow(bits):
    def fault(stream):
        stream.units[500].nal_bits += bits
        stream.units[500].vcl_bits += bits
        stream.units[500].nal_bytes += bits // 8
    return fault


def without_filler(stream):
    unit = next(u for u in stream.units[100:] if u.filler_bits > 8000)
    unit.nal_bits -= unit.filler_bits


def set_unit(**members):
    return lambda stream: vars(stream.units[len(stream.units) // 2]).update(members)


def set_first(**members):
    return lambda stream: vars(stream.units[0]).update(members)


def set_sps(**members):
    return lambda stream: vars(stream.sps).update(members)


def broken_rules():
    """Each rule is found broken where one member of a stream changes."""
    vbr = encode('-b:v 300k -maxrate 400k -bufsize 200k -nal-hrd vbr', loops=3)
    cbr = encode('-b:v 400k -bufsize 200k -nal-hrd cbr', loops=3)
    predicted = encode('-b:v 400k -bufsize 200k -nal-hrd cbr -g 250 -sc_threshold 0', loops=3)
    refreshed = encode('-b:v 400k -bufsize 200k -nal-hrd cbr -g 600 -sc_threshold 0 -intra_refresh 20', loops=3)
    average = encode('-b:v 400k -level 2', loops=3)
    fields = encode('-b:v 400k -bufsize 200k -nal-hrd cbr -vf setfield=tff', loops=3)
    wide = encode('-qp 30', size='1280x720', part=1, rate='60')
    narrow = encode('-qp 40 -level 3', size='16x1600', part=1)
    for stream, rule, fault in (
            (vbr, 'C.3: picture', grow(300000)), (cbr, 'C.3: picture', grow(300000)), (cbr, 'C.3: initial', without_filler),
            (cbr, 'C.3: the buffer', without_filler), (cbr, 'C.3: initial', set_unit(delay=30000)), (vbr, 'D.2.1', set_unit(delay=45001)),
            (vbr, 'D.2.1: the sum', set_unit(offset=1)), (vbr, 'E.2.1', set_unit(removal=3)), (vbr, 'D.2.1: a picture', set_unit(delay=None)),
            (fields, 'C.3: picture', grow(300000)), (fields, 'table A-4', set_sps(level=42)), (fields, '7.4.1.2.4', set_unit(bottoms=[1])),
            (fields, 'A.3.1 e)', set_sps(height=60)), (fields, 'E.2.1', set_unit(removal=3)), (fields, '7.4.3: picture', set_unit(frame_nums=[1])),
            (average, 'A.3.1 i)', grow(2600000)), (average, 'A.3.1 j)', grow(3100000)), (average, 'A.3.1 c)', grow(1500000)),
            (vbr, 'A.3.1 j)', set_sps(level=10)), (wide, 'A.3.1 a)', set_sps(level=10)), (wide, 'A.3.1 e)', set_sps(level=10)),
            (wide, 'A.3.1 h)', set_sps(ref_frames=10)),
            (narrow, 'A.3.3 a)', set_unit(first=list(range(100)))), (wide, 'A.3.3 k)', set_sps(constraints=0x10)),
            (wide, 'A.3.3 c)', set_sps(direct_8x8_inference=0)),
            (vbr, '7.4.3: picture', set_unit(idr_pic_ids=[7, 8])), (vbr, '7.4.3: slices', set_unit(first=[1])),
            (predicted, 'C.3: picture', grow(300000)), (predicted, 'E.2.1', set_unit(removal=3)),
            (predicted, 'D.2.1: a picture', set_unit(removal=None)), (predicted, 'D.2.1: a picture', set_first(delay=None)),
            (predicted, '7.4.3: picture', set_unit(frame_nums=[17])), (refreshed, 'D.2.1: a picture', set_unit(recovery=3)),
            (cbr, '7.4.1.2.3', set_unit(types=[FILLER, SLICE]))):
        broken = copy.deepcopy(stream)
        expect(not faults(stream), f'{faults(stream)[:1]}')
        fault(broken)
        found = faults(broken)
        expect(any(line.startswith(rule) for line in found), f'{rule} is not found broken: {found[:3]}')


if __name__ == '__main__':
    long_streams()
    edges_of_levels()
    broken_rules()
    finish()
