#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Interlaced frames: a bar moves, and each field has it at its own time. What FFmpeg's decoders weave, or make of the fields
alone, is compared with the source line by line; field order and sizes are read back from containers by ffprobe and mediainfo;
both devices give the same bytes.

Usage: interlaced.py FFMPEG_BUILD [MEDIA_DIR]    Clips of cameras are in MEDIA_DIR/clips. Ends in a line "N passed, N failed".
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from tally import expect, finish  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(tempfile.mkdtemp())
WIDTH, HEIGHT, FRAMES = 96, 80, 3
MODES = {'tff': 'tt', 'bff': 'bb'}


def run(*command, may_fail=False):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    if done.returncode and not may_fail:
        print('FAILED', *command, done.stderr.decode())
    return done


def ffmpeg(*options, **kind):
    return run(BUILD / 'ffmpeg', '-nostdin', '-y', '-v', 'warning', *options, **kind)


def is_first(line, mode):
    """Whether a line of a frame belongs to the field that comes first."""
    return (line % 2 == 0) == (mode == 'tff')


def line_of(time, line, width):
    """A slope, and a bar of 8 samples that moves by 5 of them from field to field."""
    return bytes(235 if (x - 5 * time) % WIDTH < 8 else 60 + (x + line) // 2 for x in range(width))


def plane(frame, mode, width, height):
    return b''.join(line_of(2 * frame + (not is_first(y, mode)), y, width) for y in range(height))


def frames_of(mode, width=WIDTH, height=HEIGHT):
    """4:2:2 of 8 bits, whose chroma has a bar as well."""
    return [b''.join(plane(frame, mode, w, height) for w in (width, width // 2, width // 2)) for frame in range(FRAMES)]


def field_lines(frame, parity, width=WIDTH, height=HEIGHT):
    """The planes of a field of 4:2:2, 0 the top one."""
    planes, at = [], 0
    for w in (width, width // 2, width // 2):
        rows = [frame[at + y * w:at + (y + 1) * w] for y in range(height)]
        planes.append(b''.join(rows[parity::2]))
        at += w * height
    return b''.join(planes)


def error(got, wanted):
    """The mean squared error, or None where sizes differ."""
    return sum((a - b) ** 2 for a, b in zip(got, wanted)) / len(wanted) if len(got) == len(wanted) else None


def source(mode, **size):
    file = FOLDER / f'{mode}.yuv'
    file.write_bytes(b''.join(frames_of(mode, **size)))
    return file


def encode(codec, mode, file, *options, device='cpu', pixels='yuvj422p', mark=None, size=(WIDTH, HEIGHT), **kind):
    return ffmpeg('-f', 'rawvideo', '-pixel_format', pixels, '-video_size', '%dx%d' % size, '-framerate', 25, '-i', FOLDER / f'{mode}.yuv',
                  '-vf', f'setfield={mark or mode}', '-c:v', codec, '-device', device, '-fflags', '+bitexact', '-flags', '+bitexact', *options,
                  file, **kind)


def decode(file, *decoder, pixels='yuvj422p'):
    return ffmpeg(*decoder, '-i', file, '-f', 'rawvideo', '-pix_fmt', pixels, '-').stdout


def expect_woven(what, got, mode, most):
    """Each field at its own time: within `most` of the source, and far from fields that are swapped."""
    wanted = b''.join(frames_of(mode))
    swapped = b''.join(frames_of('bff' if mode == 'tff' else 'tff'))
    near, far = error(got, wanted), error(got, swapped)
    expect(near is not None and near <= most < 100 < far, f'{what}: squared errors {near}, swapped {far}')


def ffprobe(file, *entries):
    done = run(BUILD / 'ffprobe', '-v', 'error', '-show_entries', 'stream=' + ','.join(entries), '-of', 'json', file)
    stream = json.loads(done.stdout)['streams'][0]
    return tuple(stream.get(entry) for entry in entries)


def mediainfo(file):
    if not shutil.which('mediainfo'):
        print('skipped: no mediainfo here')
        return None
    tracks = json.loads(run('mediainfo', '--Output=JSON', file).stdout)['media']['track']
    return next(track for track in tracks if track['@type'] == 'Video')


def expect_order(what, file, mode, height=HEIGHT, order=True):
    probed = ffprobe(file, 'field_order', 'height')
    expect(probed[0] == (MODES[mode] if order else None) and height in (None, probed[1]), f'{what}: ffprobe says {probed}')
    track = mediainfo(file)
    if track:
        wanted = ('Interlaced', 'TFF' if mode == 'tff' else 'BFF')
        got = track.get('ScanType'), track.get('ScanOrder')
        expect(got == wanted, f'{what}: mediainfo says {got}')


def same_on_emulator(what, codec, mode, file, *options, **kind):
    other = file.with_stem('emu')
    encode(codec, mode, other, *options, device='emu', **kind)
    expect(file.read_bytes() == other.read_bytes(), f'{what}: the emulator has other bytes')


# ---- Motion JPEG

def jpegs(data):
    """The pictures of a file whose coded data have no thumbnails."""
    return [b'\xff\xd8\xff\xe0' + part for part in data.split(b'\xff\xd8\xff\xe0')[1:]]


def check_avi1(what, file, mode):
    """APP0 of each field: its polarity, 1 the top one, and its size."""
    data, at = file.read_bytes(), 0
    for number in range(2 * FRAMES):
        at = data.index(b'AVI1', at) + 4
        polarity, padding, size, size_less = struct.unpack('>BBII', data[at:at + 10])
        begin = data.rindex(b'\xff\xd8', 0, at)
        expect((polarity, padding, size_less) == (1 + (number % 2 == (mode == 'tff')), 0, size), f'{what}: field {number} is {polarity}')
        expect(data[begin + size - 2:begin + size] == b'\xff\xd9', f'{what}: field {number} does not end after {size} bytes')
    expect(b'AVI1' not in data[at:], f'{what}: more markers than fields')


def check_mjpeg(mode):
    for suffix in ('mov', 'mkv', 'avi'):
        what, file = f'mjpeg {mode} {suffix}', FOLDER / f'x.{suffix}'
        said = encode('mjpeg_cuda', mode, file, '-quality', 98).stderr
        expect(b'[mjpeg_cuda' not in said, f'{what}: {said.decode()}')
        same_on_emulator(what, 'mjpeg_cuda', mode, file, '-quality', 98)
        check_avi1(what, file, mode)
        expect_order(what, file, mode, order=suffix != 'avi')  # FFmpeg reads none from AVI
        for decoder in ('mjpeg', 'mjpeg_cuda'):
            # In AVI both take the bottom field for the first one.
            if suffix != 'avi' or mode == 'bff':
                expect_woven(f'{what} {decoder}', decode(file, '-c:v', decoder), mode, 20)
    encode('mjpeg_cuda', mode, FOLDER / 'plain.mov', '-quality', 98, mark='prog')
    expect(b'AVI1' not in (FOLDER / 'plain.mov').read_bytes(), f'mjpeg {mode}: a progressive frame has a field marker')
    sizes = []
    for device in ('cpu', 'emu'):  # 100 kbit/s at 25 frames/s: 500 bytes a packet
        file = FOLDER / f'rate-{device}.mov'
        encode('mjpeg_cuda', mode, file, '-b:v', 400000, device=device)
        packets = json.loads(run(BUILD / 'ffprobe', '-v', 'error', '-show_packets', '-of', 'json', file).stdout)['packets']
        sizes.append([int(packet['size']) for packet in packets])
    expect(all(1900 <= size <= 2100 for size in sizes[0]) and sizes[0] == sizes[1], f'mjpeg {mode}: packets of {sizes}, not 2000 bytes')


# ---- JPEG 2000

def codestreams(data):
    """From SOC to EOC."""
    return [b'\xff\x4f\xff\x51' + part for part in data.split(b'\xff\x4f\xff\x51')[1:]]


def packets_of(file):
    """The bytes of each packet."""
    sizes = json.loads(run(BUILD / 'ffprobe', '-v', 'error', '-show_packets', '-of', 'json', file).stdout)['packets']
    data, at, packets = ffmpeg('-i', file, '-c', 'copy', '-f', 'rawvideo', '-').stdout, 0, []
    for packet in sizes:
        packets.append(data[at:at + int(packet['size'])])
        at += int(packet['size'])
    return packets


def local_tags(file, wanted, *kinds):
    """Values of local tags of the picture descriptor of an MXF file, or of another set; kinds: byte 14 of its key."""
    data, at = file.read_bytes(), 0
    while at + 17 <= len(data):
        key, length, at = data[at:at + 16], data[at + 16], at + 17
        if length & 128:
            length, at = int.from_bytes(data[at:at + (length & 127)], 'big'), at + (length & 127)
        if key[:6] == bytes.fromhex('060e2b340253') and key[13] == 1 and key[14] in (kinds or (0x28, 0x51)):
            tags, place = {}, at
            while place + 4 <= at + length:
                tag, size = struct.unpack('>HH', data[place:place + 4])
                tags[tag] = int.from_bytes(data[place + 4:place + 4 + size], 'big')
                place += 4 + size
            return {tag: tags.get(tag) for tag in wanted}
        at += length
    return None


def with_a_field_an_element(data):
    """An MXF file whose picture elements have two codestreams each, with an element a field (SMPTE ST 422, I1 and F1). The filler
    behind them gives the room, so that nothing else moves."""
    made, at, owed = bytearray(), 0, 0
    while at < len(data):
        length = data[at + 16]
        head = 17 + (length & 127 if length & 128 else 0)
        size = int.from_bytes(data[at + 17:at + head], 'big') if length & 128 else length
        key, value = data[at:at + 16], data[at + head:at + head + size]
        if key[8:13] == bytes.fromhex('0d01030115'):  # a picture element
            for field in codestreams(value):
                made += key + b'\x83' + len(field).to_bytes(3, 'big') + field
            owed = 2 * 20 - head
        elif key[8:12] == bytes.fromhex('03010210') and owed:
            room = head + size - 20 - owed
            made += key + b'\x83' + room.to_bytes(3, 'big') + bytes(room)
            owed = 0
        else:
            made += data[at:at + head + size]
        at += head + size
    return made


def check_a_field_an_element(mode, file):
    """FFmpeg's demuxer gives a packet a field, each a picture of its own; the filter weave joins them."""
    fields = file.with_name('field_an_element.mxf')
    fields.write_bytes(with_a_field_an_element(file.read_bytes()))
    expect([len(codestreams(packet)) for packet in packets_of(fields)] == 2 * FRAMES * [1], 'a field an element: packets')
    lines = [field_lines(frame, second != (mode == 'bff')) for frame in frames_of(mode) for second in (0, 1)]
    decoder = ('-r', '50', '-c:v', 'j2k_cuda', '-device', 'cpu')
    expect(decode(fields, *decoder, pixels='yuv422p') == b''.join(lines), f'a field an element, {mode}: fields')
    woven = ffmpeg(*decoder, '-i', fields, '-vf', f"weave=first_field={'bottom' if mode == 'bff' else 'top'}", '-pix_fmt', 'yuv422p',
                   '-f', 'rawvideo', '-').stdout
    expect(woven == b''.join(frames_of(mode)), f'a field an element, {mode}: frames')


def check_j2k(mode):
    lossless = ('-pred', 'dwt53', '-format', 'j2k')
    for suffix in ('mxf', 'mov', 'mkv'):
        what, file = f'j2k {mode} {suffix}', FOLDER / f'x.{suffix}'
        said = encode('j2k_cuda', mode, file, *lossless, pixels='yuv422p').stderr
        expect(b'[j2k_cuda' not in said, f'{what}: {said.decode()}')
        same_on_emulator(what, 'j2k_cuda', mode, file, *lossless, pixels='yuv422p')
        packets = packets_of(file)
        expect(len(packets) == FRAMES, f'{what}: {len(packets)} packets')
        for number, (packet, frame) in enumerate(zip(packets, frames_of(mode))):
            fields = codestreams(packet)
            expect(len(fields) == 2 and b''.join(fields) == packet, f'{what}: {len(fields)} codestreams in packet {number}')
            for second, field in enumerate(fields):
                (FOLDER / 'field.j2k').write_bytes(field)
                got = decode(FOLDER / 'field.j2k', '-c:v', 'jpeg2000', pixels='yuv422p')
                parity = second != (mode == 'bff')
                expect(got == field_lines(frame, parity), f'{what}: field {second} of frame {number}')
        woven = decode(file, '-c:v', 'j2k_cuda', '-device', 'cpu', pixels='yuv422p')
        # FFmpeg's MXF has the line map of a top field that is coded first.
        expect((woven == b''.join(frames_of(mode))) == ((mode, suffix) != ('bff', 'mxf')), f'{what}: what j2k_cuda weaves')
        if suffix == 'mxf':
            lines = (0x3202, 0x3204, 0x3208)  # stored, sampled, displayed
            tags = local_tags(file, (0x320C, 0x3212, *lines))
            wanted = {0x320C: 1, 0x3212: 1 + (mode == 'bff'), **dict.fromkeys(lines, HEIGHT // 2)}
            expect(tags == wanted, f'{what}: separate fields, the dominant one, lines: {tags}')
            rows = local_tags(file, (0x8403,), 0x5A)
            expect(rows in (None, {0x8403: HEIGHT // 2}), f'{what}: rows of the sub-descriptor: {rows}')  # 5.1 has none
            check_a_field_an_element(mode, file)
        else:
            expect_order(what, file, mode, height=None)
    for device in ('cpu', 'emu'):
        for options, most in ((('-frame_bytes', 1600), 1600), (('-b:v', 320000), 1600)):
            file = FOLDER / 'rate.mkv'
            encode('j2k_cuda', mode, file, *options, pixels='yuv422p', device=device)
            sizes = [[len(field) for field in codestreams(packet)] for packet in packets_of(file)]
            good = all(len(pair) == 2 and all(0.98 * most <= 2 * size <= most for size in pair) for pair in sizes)
            expect(good, f'j2k {mode} {device} {options}: fields of {sizes} bytes')


# ---- H.264

# Options, and the most squared error that they leave.
H264 = {'auto': (('-crf', '8'), 12), 'cavlc': (('-qp', '6', '-effort', '2', '-slices', '3'), 12), 'small': (('-qp', '12', '-effort', '3'), 16),
        '4x4': (('-qp', '6', '-profile:v', 'main'), 12),
        'hrd': (('-b:v', '2M', '-maxrate', '2M', '-bufsize', '400k', '-nal-hrd', 'cbr', '-aud', '1'), 40)}


def check_h264(mode):
    for name, (options, most) in H264.items():
        for pixels in ('yuv420p', 'yuv422p', 'yuv422p10le')[:1 if name == '4x4' else 3]:
            what, file = f'h264 {mode} {name} {pixels}', FOLDER / 'x.mkv'
            vf = ('-pix_fmt', pixels)
            said = encode('h264_cavlc_cuda', mode, file, *vf, *options, pixels='yuv422p').stderr
            expect(b'[h264_cavlc' not in said, f'{what}: {said.decode()}')
            same_on_emulator(what, 'h264_cavlc_cuda', mode, file, *vf, *options, pixels='yuv422p')
            done = ffmpeg('-i', file, '-f', 'rawvideo', '-pix_fmt', 'yuv422p', '-')
            expect(done.stderr == b'', f'{what}: the decoder says {done.stderr.decode()}')
            frames = [done.stdout[i:i + 2 * WIDTH * HEIGHT] for i in range(0, len(done.stdout), 2 * WIDTH * HEIGHT)]
            luma = b''.join(frame[:WIDTH * HEIGHT] for frame in frames)
            near, far = (error(luma, b''.join(plane(frame, m, WIDTH, HEIGHT) for frame in range(FRAMES))) for m in (mode, {'tff': 'bff', 'bff': 'tff'}[mode]))
            expect(near is not None and near <= most < 100 < far, f'{what}: squared errors {near}, swapped {far}')
            expect_order(what, file, mode)
    syntax = ffmpeg('-v', 'verbose', '-i', FOLDER / 'x.mkv', '-c', 'copy', '-bsf:v', 'h264_mp4toannexb,trace_headers', '-f', 'null', '-').stderr.decode()
    slices = [line.split()[-1] for line in syntax.splitlines() if ' bottom_field_flag ' in line]
    expect(slices == ['0', '1'] * FRAMES if mode == 'tff' else slices == ['1', '0'] * FRAMES, f'h264 {mode}: parities {slices}')


# ---- AVC-Intra and XAVC Intra: a frame of field macroblock pairs. libx264 has the same parameter sets and slices.

def bars(line, time):
    """Luma of 10 bits: a slope with a bar that moves from field to field."""
    at = 40 * time % 1920
    row = [200 + (x + line) % 512 // 2 for x in range(1920)]
    row[at:at + 160] = [900] * len(row[at:at + 160])
    return struct.pack('<1920H', *row)


def syntax_of(file):
    """Elements of parameter sets and slice headers of the first frame, but for those that QPs and colours decide."""
    text = ffmpeg('-v', 'verbose', '-i', file, '-frames:v', 1, '-c', 'copy', '-bsf:v', 'trace_headers', '-f', 'null', '-').stderr.decode()
    lines = [line.split('] ', 1)[-1].split() for line in text.splitlines() if 'trace_headers' in line]
    elements = [(line[1], line[-1]) for line in lines if len(line) > 3 and line[0].isdigit() and line[-2] == '=']
    return [element for element in elements if element[0] not in ('slice_qp_delta', 'level_idc', 'rbsp_alignment_zero_bit', 'rbsp_stop_one_bit')]


def check_avc_intra():
    frames = [b''.join(bars(y, 2 * frame + y % 2) for y in range(1080)) for frame in range(2)]
    (FOLDER / '1080i.yuv').write_bytes(b''.join(luma + struct.pack('<H', 512) * (1920 * 1080) for luma in frames))
    source_of = ('-f', 'rawvideo', '-pixel_format', 'yuv422p10le', '-video_size', '1920x1080')
    for number, flavor, rate, size, label in ((100, 'panasonic', '25', 568832, '3102'), (100, 'panasonic', '30000/1001', 472576, '3101'),
                                              (100, 'sony', '25', 568832, '3102'), (200, 'panasonic', '25', 1144320, '3001')):
        what, file = f'AVC-Intra {number} {flavor} {rate}', FOLDER / 'avcintra.mxf'
        marked = (*source_of, '-framerate', rate, '-i', FOLDER / '1080i.yuv', '-vf', 'setfield=tff')
        classes = ('-avcintra-class', number, '-avcintra-flavor', flavor)
        said = ffmpeg(*marked, '-c:v', 'h264_cavlc_cuda', '-device', 'cpu', *classes, file)
        expect(b'[h264_cavlc' not in said.stderr, f'{what}: {said.stderr.decode()}')
        packets = packets_of(file)
        expect([len(packet) for packet in packets] == [size] * 2, f'{what}: packets of {[len(packet) for packet in packets]} bytes')
        expect(bytes.fromhex('060e2b340401010a040102020132' + label) in file.read_bytes(), f'{what}: another label')
        tags = local_tags(file, (0x320C, 0x3212, 0x3202, 0x3208))
        wanted = {0x320C: 1, 0x3212: 1 if number == 100 else None, 0x3202: 544, 0x3208: 540}
        expect(tags == wanted, f'{what}: separate fields, the dominant one, lines: {tags}')
        done = ffmpeg('-i', file, '-f', 'rawvideo', '-pix_fmt', 'yuv422p10le', '-')
        expect(done.stderr == b'', f'{what}: the decoder says {done.stderr.decode()}')
        for frame, luma in enumerate(frames):
            decoded = struct.unpack_from(f'<{1920 * 1080}H', done.stdout, frame * 4 * 1920 * 1080)
            worst = max(abs(a - b) for a, b in zip(decoded, struct.unpack(f'<{1920 * 1080}H', luma)))
            expect(worst < 40, f'{what}: a sample of frame {frame} is off by {worst}')
        ffmpeg('-i', file, '-c', 'copy', '-f', 'h264', FOLDER / 'own.h264')
        expect(ffmpeg('-i', FOLDER / 'own.h264', '-f', 'rawvideo', '-pix_fmt', 'yuv422p10le', '-').stdout == done.stdout, f'{what}: other pictures without MXF')
        x264 = shutil.which('ffmpeg') and run('ffmpeg', '-nostdin', '-y', '-v', 'error', *marked, '-frames:v', 1, '-flags', '+ildct+ilme', '-c:v', 'libx264', '-avcintra-class', number,
                                              '-x264-params', f'avcintra-flavor={flavor}', FOLDER / 'x264.h264', may_fail=True)
        if not x264 or x264.returncode:
            print('skipped: no ffmpeg with libx264 of 10 bits here')
        else:
            own, theirs = syntax_of(FOLDER / 'own.h264'), syntax_of(FOLDER / 'x264.h264')
            different = [pair for pair in zip(own, theirs) if pair[0] != pair[1]]
            expect(own and len(own) == len(theirs) and not different, f'{what}: beside libx264 {len(own)} and {len(theirs)} elements, {different[:4]}')
    refusals = (('bff', '25', 'bottom field first'), ('tff', '50', 'frame rate 50/1 is not allowed with avc_intra_class 100 and fields'))
    for mark, rate, line in refusals:
        text = ffmpeg(*source_of, '-framerate', rate, '-i', FOLDER / '1080i.yuv', '-vf', f'setfield={mark}', '-c:v', 'h264_cavlc_cuda', '-device', 'cpu',
                      '-avcintra-class', 100, '-f', 'null', '-', may_fail=True).stderr.decode()
        expect(line in text, f'AVC-Intra {mark} {rate}: {text}')


# ---- Clips of cameras, whose frames are marked by their decoder: no filter tells the order

CLIP_OPTIONS = {
    'j2k_cuda': ('mxf', ('-format', 'j2k', '-q:v', 95)),
    'mjpeg_cuda': ('mov', ('-q:v', 97)),
    'h264_cavlc_cuda': ('mxf', ('-qp', 20, '-level', '4.1')),
}


def check_clips(folder):
    for clip in sorted(folder.glob('*i_*')):
        frames = FOLDER / 'clip.mkv'  # the tests' FFmpeg has no decoder of MPEG-2
        made = run('ffmpeg', '-nostdin', '-y', '-v', 'error', '-i', clip, '-map', '0:v:0', '-frames:v', 2, '-vf', 'setpts=N/25/TB', '-r', 25, '-c:v', 'ffv1', frames)
        expect(made.returncode == 0, f'{clip.name}: {made.stderr.decode()}')
        pixels, height = ffprobe(frames, 'pix_fmt', 'height')
        for codec, (suffix, options) in CLIP_OPTIONS.items():
            classes = [options]
            if codec == 'h264_cavlc_cuda' and pixels == 'yuv422p10le' and height == 1080:
                classes += [('-avcintra-class', 100), ('-avcintra-class', 100, '-avcintra-flavor', 'sony')]
            for chosen in classes:
                what, file = f'{clip.name} {codec} {chosen}', FOLDER / f'clip.{suffix}'
                form = {'yuv422p': 'yuvj422p', 'yuv422p10le': 'yuvj422p', 'yuv420p': 'yuvj420p'}[pixels] if codec == 'mjpeg_cuda' else pixels
                said = ffmpeg('-i', frames, '-pix_fmt', form, '-c:v', codec, '-device', 'cpu', *chosen, file)
                expect(f'[{codec[:9]}' not in said.stderr.decode(), f'{what}: {said.stderr.decode()}')
                decoder = ('-c:v', 'j2k_cuda', '-device', 'cpu') if codec == 'j2k_cuda' else ()
                text = ffmpeg('-v', 'info', *decoder, '-i', file, '-i', frames, '-lavfi',
                              f'[0:v]settb=1/25,setpts=N,format={form}[a];[1:v]settb=1/25,setpts=N,format={form}[b];[a][b]psnr', '-f', 'null', '-').stderr.decode()
                psnr = [float(word.split(':')[1]) for word in text.split() if word.startswith('y:')]
                expect(psnr and psnr[-1] > 38, f'{what}: luma has {psnr} dB')
                if suffix == 'mxf':
                    tags = local_tags(file, (0x320C, 0x3212))
                    expect(tags and tags[0x320C] == 1 and tags[0x3212] in (None, 1), f'{what}: layout and dominance {tags}')
                else:
                    expect_order(what, file, 'tff', height=height)
                track = mediainfo(file)
                told = (track.get('ScanType'), track.get('ScanOrder')) if track else None
                expect(told in (None, ('Interlaced', 'TFF'), ('MBAFF', 'TFF'), ('Interlaced', None)), f'{what}: mediainfo says {told}')


# ---- Refusals, and what is said

def check_words():
    source('tff')
    for codec in ('mjpeg_cuda', 'j2k_cuda', 'h264_cavlc_cuda'):
        for mark in ('tff', 'prog'):
            text = encode(codec, 'tff', '-', '-f', 'null', mark=mark).stderr.decode()
            expect('a frame is marked' not in text, f'{codec} {mark}: {text}')
        two = ffmpeg('-f', 'rawvideo', '-pixel_format', 'yuvj422p', '-video_size', f'{WIDTH}x{HEIGHT}', '-i', FOLDER / 'tff.yuv', '-filter_complex',
                     "split[a][b];[a]trim=end_frame=1,setfield=tff[t];[b]trim=start_frame=1,setfield=prog[p];[t][p]concat", '-c:v', codec,
                     '-device', 'cpu', '-f', 'null', '-')
        text = two.stderr.decode()
        expect(text.count('a frame is marked progressive in a stream that is interlaced, top field first') == 1, f'{codec}: {text}')
    for codec, pixels, height in (('mjpeg_cuda', 'yuvj422p', 79), ('mjpeg_cuda', 'yuvj420p', 78), ('j2k_cuda', 'yuv420p', 78)):
        done = encode(codec, 'tff', '-', '-f', 'null', pixels=pixels, size=(WIDTH, height), may_fail=True)
        expect(f'height {height} is not allowed with fields' in done.stderr.decode(), f'{codec} {height}: {done.stderr.decode()}')
    for options, line in ((('-profile:v', 'baseline'), 'profile baseline is not allowed with fields'), (('-g', 12, '-lookahead', 4), 'lookahead 4 is not allowed with fields'),
                          (('-pix_fmt', 'yuv444p'), '4:4:4 is not allowed with fields'), (('-level', '4.2'), 'levels 2.1 to 4.1')):
        text = encode('h264_cavlc_cuda', 'tff', '-', '-f', 'null', *options, pixels='yuv420p', may_fail=True).stderr.decode()
        expect(line in text, f'h264_cavlc_cuda {options}: {text}')
    text = encode('j2k_cuda', 'tff', '-', '-f', 'null', '-format', 'jp2', pixels='yuv422p', may_fail=True).stderr.decode()
    expect('format 1 (jp2) is not allowed with fields' in text, f'j2k_cuda jp2: {text}')


def main():
    for mode in MODES:
        source(mode)
        check_mjpeg(mode)
        check_j2k(mode)
        check_h264(mode)
    check_avc_intra()
    if len(sys.argv) > 2:
        check_clips(pathlib.Path(sys.argv[2]) / 'clips')
    check_words()
    shutil.rmtree(FOLDER)
    finish()


if __name__ == '__main__':
    main()
