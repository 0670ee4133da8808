# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decoders of JPEG 2000: each gives a picture as pictures.py has it, or raises Failure.
"""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pictures


class Failure(Exception):
    pass


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors='replace')
    said = done.stdout + done.stderr
    if done.returncode:
        raise Failure(f'{os.path.basename(command[0])} failed ({done.returncode}): {last_line(said)}')
    return said


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ''


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def with_ffmpeg(ffmpeg, path, where, depth):
    raw = where + '/ffmpeg.raw'
    said = run(ffmpeg, '-nostdin', '-y', '-threads', '1', '-f', 'j2k_pipe', '-i', path, '-fps_mode', 'passthrough',
               '-f', 'rawvideo', raw)
    output = said[said.index('Output #0'):]
    pix_fmt, width, height = re.search(r'Video: rawvideo.*?, (\w+)(?:\(.*?\))?, (\d+)x(\d+)', output).groups()
    found = pictures.raw_pictures(read(raw), pix_fmt, int(width), int(height))
    return [[pictures.to_depth(c, depth, pix_fmt) for c in picture] for picture in found]


def pgx_files(where, prefix, count):
    return [pictures.pgx_component(read(f'{where}/{prefix}_{i}.pgx')) for i in range(count)]


def with_openjpeg(file, where, source, layers=0):
    """opj_decompress turns subsampled components into RGB where it can, but not when it is asked for one of them.
    layers: so many quality layers, 0 for all."""
    path = where + '/openjpeg.jp2'
    with open(path, 'wb') as out:
        out.write(pictures.without_colour(file))
    if len(source) == 3 and pictures.subsampled(file):
        found = []
        for i in range(3):
            run('opj_decompress', '-quiet', '-i', path, '-l', str(layers), '-c', str(i), '-o', where + '/openjpeg.pgx')
            found += pgx_files(where, 'openjpeg', 1)
        return found
    run('opj_decompress', '-quiet', '-i', path, '-l', str(layers), '-o', where + '/openjpeg.pgx')
    return pgx_files(where, 'openjpeg', len(source))


def with_grok(file, where, source, layers=0):
    path = where + '/grok.jp2'
    with open(path, 'wb') as out:
        out.write(pictures.without_colour(file))
    run('grk_decompress', '-H', '1', '-i', path, '-l', str(layers), '-o', where + '/grok.pgx')
    return pgx_files(where, 'grok', len(source))


def with_openjph(file, where, source):
    """Bare codestreams of HT blocks; of one component or of three, those of one size."""
    begin = file.index(b'\xff\x4f\xff\x51')
    with open(where + '/openjph.j2c', 'wb') as out:
        out.write(file[begin:])
    kind, planar = ('.pgm' if len(source) == 1 else '.ppm'), where + '/openjph'
    run('ojph_expand', '-i', where + '/openjph.j2c', '-o', planar + kind)
    return pictures.netpbm_components(read(planar + kind))


# Grok and OpenJPH are not in every distribution.
HAVE_GROK = shutil.which('grk_decompress') is not None
HAVE_OPENJPH = shutil.which('ojph_expand') is not None


def openjph_reads(case):
    """Whether a netpbm file holds the components."""
    return HAVE_OPENJPH and case.style == 'ht' and len(case.components) in (1, 3) and len({c[:3] for c in case.components}) == 1


def check_headers(jpylyzer, file, where):
    jp2 = file[4:8] == b'jP  '
    path = where + ('/headers.jp2' if jp2 else '/headers.j2k')
    with open(path, 'wb') as out:
        out.write(file)
    said = run('opj_dump', '-i', path)
    if re.search(r'\[(ERROR|WARNING)\]', said):
        raise Failure('opj_dump: ' + re.search(r'\[(?:ERROR|WARNING)\].*', said)[0])
    if not jpylyzer:
        return
    siz = file.index(b'\xff\x4f\xff\x51') + 4
    ht = file[siz + 2] & 0x40  # of Rsiz
    said = run(jpylyzer, '--format', ('jph' if ht else 'jp2') if jp2 else 'jhc' if ht else 'j2c', path)
    root = xml.etree.ElementTree.fromstring(said[said.index('<?xml'):said.index('</jpylyzer>') + 11])
    valid = [e.text for e in root.iter() if e.tag.endswith('isValid')]
    if valid != ['True']:
        tests = next((e for e in root.iter() if e.tag.endswith('}tests') or e.tag == 'tests'), root)
        wrong = [e.tag.split('}')[-1] for e in tests.iter() if e.text == 'False']
        raise Failure('jpylyzer: not valid: ' + ' '.join(wrong))


# What profiles set, as far as decoders are asked by it.
LIBRARY_PROFILE = {'prog': 'rpcl', 'tile_width': '1024', 'tile_height': '1024', 'precincts': '256x256,256x256,128x128',
                   'cblk_style': 'segsym'}
PROFILE_OPTIONS = {
    'archive_lossless': {**LIBRARY_PROFILE, 'pred': 'dwt53', 'layers': '11'}, 'access': {**LIBRARY_PROFILE, 'layers': '8'},
    'imf_ht': {'cblk_style': 'ht', 'prog': 'rpcl'}, 'imf_ht_r': {'cblk_style': 'ht', 'prog': 'rpcl', 'pred': 'dwt53'},
    'dicom_ht_lossless': {'cblk_style': 'ht', 'pred': 'dwt53'}, 'dicom_ht': {'cblk_style': 'ht'},
    'dicom_ht_rpcl': {'cblk_style': 'ht', 'pred': 'dwt53', 'prog': 'rpcl', 'tile_parts': 'resolution'}}


class Case:
    """What was encoded, and by which options (a dictionary of texts)."""

    def __init__(self, pix_fmt, size, options):
        options = {**PROFILE_OPTIONS.get(options.get('profile'), {}), **options}
        self.pix_fmt, self.options = pix_fmt, options
        self.width, self.height = map(int, size.split('x'))
        coded = 'xyz12le' if options.get('profile', '').startswith('cinema') else pix_fmt  # what frames become
        self.components = pictures.components_of(coded, self.width, self.height)[0]
        self.depth = self.components[0][2]
        cut = {'frame_bytes', 'compression_ratio', 'psnr', 'b:v'} & set(options) or not re.search(r'(^|\D)1$', options.get('layer_rates', '1'))
        self.reversible = options.get('pred') == 'dwt53'
        self.lossless = self.reversible and not cut
        self.levels = int(options.get('levels', 5))
        self.tile = tuple(int(options.get(name, 0)) or size for name, size in (('tile_width', self.width), ('tile_height', self.height)))
        self.subsampled = len({c[:2] for c in self.components}) > 1
        self.orders = set(re.findall('[lrcp]{4}', options['poc'])) if 'poc' in options else {options.get('prog', 'lrcp')}
        self.style = options.get('cblk_style', '')
        if 'bsf:v' in options:  # j2k_recode, the last one of which decides
            self.style = 'ht' if options['bsf:v'].rpartition('j2k_recode')[2] in ('', '=cblk_style=ht') else ''
        self.layers = int(options.get('layers', options.get('layer_rates', '').count(',') + 1))
        self.frames = 1
        self.warned = set()  # decoders that the encoder says will fail

    def odd_tile(self):
        """Does a tile begin at an odd position in some component and resolution?"""
        step = 1 << self.levels + self.subsampled
        if any(int(value) % step for name, value in self.options.items() if name.endswith('_offset')):
            return True
        return any(tile < size and tile % step for size, tile in ((self.width, self.tile[0]), (self.height, self.tile[1])))

    def precinct_log2(self):
        """Of a precinct's longest side, in samples of the component."""
        sizes = [max(map(int, size.split('x'))) for size in self.options.get('precincts', '32768x32768').split(',')]
        return max(sizes[min(down, len(sizes) - 1)].bit_length() - 1 + down for down in range(self.levels + 1))

    def overlapping_changes(self):
        """Are there progression order changes that have the same packets?"""
        seen = set()
        for change in self.options.get('poc', '').split('/') if 'poc' in self.options else ():
            first, component, layers, resolutions, components = map(int, change.split(',')[:5])
            packets = {(r, c) for r in range(first, resolutions) for c in range(component, components)}
            if packets & seen:
                return True
            seen |= packets
        return False


# Where decoders that the encoder does not warn of are known to be wrong, not always, while others agree with the source.
KNOWN = (
    ('jpylyzer', lambda c: c.options.get('profile') == 'imf4k_r', 'fails within itself on that Rsiz'),
    ('jpeg2000', lambda c: c.style == 'ht' and not c.reversible and int(c.options.get('guard_bits', 2)) < 2,
     'refuses magnitudes that fill all bit-planes'),
    ('openjpeg', lambda c: c.tile == (1, 1) and 'poc' in c.options, 'component transforms of one sample with progression order changes'),
    ('openjph', lambda c: min(c.width, c.height) <= 1 << c.levels, '0.9: resolutions of one row or column'),
    ('grok', lambda c: 'roi' in c.options, 'more than 24 bit-planes'),
    ('grok', lambda c: c.style == 'ht' and c.reversible and not c.lossless, 'HT blocks of 5/3 without their lowest bit-planes'),
    ('grok', lambda c: 'bsf:v' in c.options and c.style == 'ht' and not c.lossless, 'refinement passes of HT blocks, of T.803 too'),
    ('grok', lambda c: c.overlapping_changes(), 'packets that two progression order changes have'),
    ('grok', lambda c: c.layers > 1 and 'tile_parts' in c.options and ('bypass' in c.style or 'termall' in c.style),
     'codewords of several segments of which several layers in several tile-parts have some'),
    ('grok', lambda c: c.odd_tile(), 'tiles that begin at odd positions in some resolution'),
    ('grok', lambda c: 'cprl' in c.orders and 'precincts' in c.options and c.subsampled and len(c.components) > 3,
     'positions of alpha behind subsampled components'),
    ('grok', lambda c: c.orders & {'rpcl', 'pcrl', 'cprl'} and c.precinct_log2() > 31, 'positions beyond 32 bits'),
)


def warned(lines):
    """The decoders that the encoder says will fail."""
    found = [line for line in lines if 'decoders that are known to fail' in line]
    return {decoder for word, decoder in (('FFmpeg', 'jpeg2000'), ('OpenJPEG', 'openjpeg'), ('OpenJPH', 'openjph')) if any(word in line for line in found)}


def known(decoder, case):
    return decoder in case.warned or any(decoder == name and test(case) for name, test, _ in KNOWN)


def harmless(line):
    """What FFmpeg's decoder warns of without being wrong."""
    return re.search('extra cblk styles|Selective arithmetic coding bypass|Progression order|prc .* outside limits', line)


def tolerance(names, case):
    """How far two decoders may be apart: a rounding, and in 5/3 that is cut, where one rounds half a step up and the other down, another
    one. OpenJPEG, and Grok after it, take 1.625732422 for 2 / K, which is 1.625786132: by 3.3e-5 less in each dimension, of what may be
    larger than the range."""
    rounding = 2 if case.reversible and not case.lossless else 1
    if 'openjph' in names and case.depth > 12:  # its floats' rounding shows
        rounding += 1
    return rounding + int(3 * 3.3e-5 * (1 << case.depth)) if 'jpeg2000' in names else rounding
