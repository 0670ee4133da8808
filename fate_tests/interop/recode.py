#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bitstream filter j2k_recode: packets of all containers, to HTJ2K and back, have the samples of their source, as our
decoder, FFmpeg's own and others of the machine decode them. What a stream says of itself is still true; errors are one line.

Usage: recode.py FFMPEG_BUILD    Ends in a line "N passed, N failed".
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tally import expect, finish  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(tempfile.mkdtemp())


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def ffmpeg(*options):
    done = run(BUILD / 'ffmpeg', '-nostdin', '-y', '-v', 'warning', *options)
    expect(done.returncode == 0, f'{options}: {done.stderr}')
    return done.stderr


def samples(file, decoder='j2k_cuda'):
    return run(BUILD / 'ffmpeg', '-nostdin', '-v', 'error', '-err_detect', 'explode', '-c:v', decoder, '-i', file, '-f', 'framemd5',
               '-').stdout.splitlines()[-3:]


def probe(file):
    return json.loads(run(BUILD / 'ffprobe', '-v', 'error', '-show_streams', '-of', 'json', file).stdout)['streams'][0]


def packets(file):
    """Of each packet its times, and whether its codestreams have code-blocks of HT."""
    data = file.read_bytes()
    return run(BUILD / 'ffmpeg', '-v', 'error', '-i', file, '-c', 'copy', '-f', 'framecrc', '-').stdout.count('\n'), \
        [data[at + 6] >> 6 & 1 for at in range(len(data) - 8) if data[at:at + 4] == b'\xff\x4f\xff\x51']


def encode(name, *options):
    file = FOLDER / name
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=96x80:r=25', '-frames:v', 3, '-c:v', 'j2k_cuda', '-device', 'cpu', *options, file)
    return file


def recode(file, style, to=None):
    """The file that is made, and what the filter says."""
    made = file.with_name(f'{style}_{to or file.name}')
    said = ffmpeg('-i', file, '-c', 'copy', '-bsf:v', f'j2k_recode=cblk_style={style}', made)
    return made, ''.join(line + '\n' for line in said.splitlines() if line.startswith('[j2k_recode'))


def check_containers():
    lossless = '-pred', 'dwt53', '-pix_fmt', 'yuv422p10'
    files = [encode('bare.mov', *lossless, '-format', 'j2k'), encode('jp2.mov', *lossless), encode('jp2.mkv', *lossless),
             encode('bare.mxf', *lossless, '-format', 'j2k', '-sop', 1, '-eph', 1, '-plt', 1, '-tlm', 1),
             encode('styles.mkv', *lossless, '-cblk_style', 63, '-tile_width', 64, '-prog', 'rpcl'),
             encode('fields.mxf', *lossless, '-format', 'j2k', '-vf', 'setfield=tff'),
             encode('lossy.mxf', '-q:v', 80, '-format', 'j2k', '-pix_fmt', 'yuv422p10'),
             encode('cinema.mxf', '-profile:v', 'cinema2k', '-pix_fmt', 'rgb48')]
    for file in files:
        wanted, is_ht = samples(file), packets(file)
        made, said = recode(file, 'ht')
        expect(said == '', f'{file.name}: {said}')
        expect(len(wanted) == 3 and samples(made) == wanted, f'{file.name}: other samples in HT')
        expect(packets(made) == (is_ht[0], [1] * len(is_ht[1])), f'{file.name}: {packets(made)}, from {is_ht}')
        back, _ = recode(made, 'none')
        expect(samples(back) == wanted, f'{file.name}: other samples once it is back')
        expect(packets(back) == (is_ht[0], [0] * len(is_ht[1])), f'{file.name}: {packets(back)}, from {is_ht}')
        copied = file.with_name(f'copied_{file.name}')  # what a copy itself changes
        ffmpeg('-i', file, '-c', 'copy', copied)
        before, after = probe(copied), probe(made)
        if file.name == 'cinema.mxf':  # FFmpeg takes colours for X'Y'Z' by Rsiz without its bit of HT
            before['pix_fmt'] = 'rgb48le'
        for field in 'codec_name', 'codec_tag_string', 'pix_fmt', 'width', 'height', 'field_order', 'avg_frame_rate', 'nb_frames':
            expect(before.get(field) == after.get(field), f'{file.name}: {field} {after.get(field)}, not {before.get(field)}')
    expect(samples(recode(FOLDER / 'jp2.mov', 'ht', 'jp2.mkv')[0]) == samples(FOLDER / 'jp2.mkv'), 'from MOV to MKV')


def check_a_file():
    """A still picture becomes a JPH file, which other decoders read."""
    jp2 = FOLDER / 'still.jp2'
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=96x80', '-frames:v', 1, '-pix_fmt', 'rgb24', '-c:v', 'j2k_cuda', '-device', 'cpu',
           '-pred', 'dwt53', jp2)
    jph, _ = recode(jp2, 'ht', 'still.jph')
    expect(jph.read_bytes()[20:24] == b'jph ', 'the brand of a JPH file')
    expect(samples(jph, 'jpeg2000')[-1:] == samples(jp2, 'jpeg2000')[-1:], "FFmpeg's own decoder has other samples")
    if shutil.which('opj_decompress'):
        pnm = [file.with_suffix(f'.{file.suffix[1:]}.ppm') for file in (jp2, jph)]
        for file, to in zip((jp2, jph), pnm):
            run('opj_decompress', '-i', file, '-o', to)
        if pnm[1].exists():
            expect(pnm[0].read_bytes() == pnm[1].read_bytes(), 'OpenJPEG has other samples')


def check_errors():
    file = encode('cut.mkv', '-pred', 'dwt53', '-format', 'j2k')
    cut = FOLDER / 'cut.j2c'
    ffmpeg('-i', file, '-c', 'copy', '-frames:v', 1, '-f', 'image2', cut)
    cut.write_bytes(cut.read_bytes()[:600])
    cases = (cut, 'j2k_recode', 'JPEG 2000: '), (file, 'j2k_recode=cblk_style=raw', 'Unable to parse'), \
        (file, 'j2k_recode=threads=2000', 'out of range')
    for source, bsf, words in cases:
        done = run(BUILD / 'ffmpeg', '-nostdin', '-y', '-v', 'error', '-i', source, '-c', 'copy', '-bsf:v', bsf, '-f', 'null', '-')
        own = [line for line in done.stderr.splitlines() if line.startswith('[j2k_recode')]
        if words == 'Unable to parse':  # libavutil adds lines of its own
            own = own[-1:]
        expect(len(own) == 1 and words in own[0], f'{bsf} of {source.name}: {done.stderr}')
    raw = FOLDER / 'raw.nut'
    ffmpeg('-i', file, '-c:v', 'ffv1', raw)
    done = run(BUILD / 'ffmpeg', '-nostdin', '-y', '-v', 'error', '-i', raw, '-c', 'copy', '-bsf:v', 'j2k_recode', '-f', 'null', '-')
    expect(done.returncode != 0 and 'not supported by the bitstream filter' in done.stderr, f'FFV1: {done.stderr}')


def check_notes():
    """What is not kept is said once for all packets."""
    file = encode('layers.mkv', '-layers', 4, '-b:v', '2M')
    made, said = recode(file, 'ht')
    expect(said.count('4 layers') == 1 and len(said.splitlines()) == 1, f'layers: {said}')
    expect(len(samples(made)) == 3, 'layers: packets are missing')


check_containers()
check_a_file()
check_errors()
check_notes()
shutil.rmtree(FOLDER)
finish()
