# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other programs read what JP2 files say of their pictures: XMP, IPTC, ICC profiles, resolutions, depths and alpha; and the profiles of
libraries have what those ask for. Read by ExifTool, OpenJPEG, jpylyzer, Pillow and ImageMagick, where they are.
Ends in a line "N passed, N failed".

usage: metadata.py FFMPEG_BUILD [DEVICE]
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from decoders import read
from profile_rules import PLT, TLM, Codestream
from tally import expect, finish

FFMPEG, DEVICE = sys.argv[1] + '/ffmpeg', (sys.argv[2:] or ['cpu'])[0]
XMP = '''<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Nachtwacht</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>'''.encode()


def data_set(number, text):
    """Of record 2 of IPTC-IIM."""
    return struct.pack('>BBBH', 0x1C, 2, number, len(text)) + text


IIM = data_set(5, b'Militia') + data_set(80, b'Rembrandt') + data_set(25, b'canvas') + data_set(25, b'1642')
RESOURCES = b'8BIM\x04\x04\0\0' + struct.pack('>I', len(IIM)) + IIM + bytes(len(IIM) % 2)


def run(*command, check=True):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=check).stdout


def find(*names):
    """The first of these programs that is here, or None, of which a line tells."""
    for name in names:
        if found := shutil.which(name):
            return found
    print(f'skipped: {names[0]}, which is not here')
    return None


def python_with_pillow():
    for python in ('python3', '/usr/bin/python3'):
        if not subprocess.run([python, '-c', 'from PIL import features; assert features.check("jpg_2000")'], stderr=subprocess.DEVNULL,
                              check=False).returncode:
            return python
    print('skipped: Pillow, which is not here')
    return None


VENV = os.path.dirname(os.path.abspath(__file__)) + '/../../build/venv/bin/jpylyzer'
EXIFTOOL, OPJ_DUMP, JPYLYZER = find('exiftool'), find('opj_dump'), find(VENV, 'jpylyzer')
IDENTIFY, PILLOW = find('identify-im7.q16', 'identify-im6.q16', 'identify'), python_with_pillow()
if IDENTIFY and not re.search(rb'(?m)^ *JP2\*? .*r', run(IDENTIFY, '-list', 'format')):
    print('skipped: ImageMagick, which here does not read JPEG 2000')
    IDENTIFY = None


def exif(path, *tags):
    """Values by ExifTool's group and name."""
    return {k: v for k, v in json.loads(run(EXIFTOOL, '-j', '-G1', '-n', *tags, path))[0].items() if k != 'SourceFile'}


def validate(path):
    """By jpylyzer: a list of (name, text), without namespaces."""
    said = run(JPYLYZER, path).decode()
    root = xml.etree.ElementTree.fromstring(said[said.index('<?xml'):said.index('</jpylyzer>') + 11])
    return [(e.tag.split('}')[-1], e.text) for e in root.iter()]


def encode(path, source, *options):
    run(FFMPEG, '-nostdin', '-y', '-v', 'error', *source, '-c:v', 'j2k_cuda', '-device', DEVICE, *options, '-frames:v', '1', '-f', 'image2',
        '-update', '1', path)
    return path


def picture(pix_fmt, size='90x60'):
    return '-f', 'lavfi', '-i', f'testsrc2=s={size}', '-vf', f'format={pix_fmt}'


def check_texts(where):
    """XMP and IPTC come back byte for byte."""
    for name, contents in ('xmp', XMP), ('iim', IIM), ('8bim', RESOURCES):
        with open(f'{where}/{name}', 'wb') as file:
            file.write(contents)
    options = '-xmp', where + '/xmp', '-pred', 'dwt53'
    for name in 'iim', '8bim':
        path = encode(f'{where}/{name}.jp2', picture('rgb24'), *options, '-iptc', f'{where}/{name}')
        if EXIFTOOL:
            found = exif(path, '-xmp:all', '-iptc:all')
            expect(found == {'XMP-dc:Title': 'Nachtwacht', 'IPTC:ObjectName': 'Militia', 'IPTC:By-line': 'Rembrandt',
                             'IPTC:Keywords': ['canvas', 1642]}, f'{name}: ExifTool finds {found}')
            expect(run(EXIFTOOL, '-b', '-xmp', path) == XMP, f'{name}: XMP that ExifTool finds')
            expect(b'Warning' not in run(EXIFTOOL, '-validate', '-warning', '-a', path), f'{name}: ExifTool warns')
        if JPYLYZER:
            found = validate(path)
            expect(('isValid', 'True') in found, f'{name}: jpylyzer calls it invalid')
            uuids = [text for tag, text in found if tag == 'uuid']
            expect(uuids == [{'iim': '33c7a4d2-b81d-4723-a0ba-f1a3e097ad38', '8bim': '2c4c0100-8504-40b9-a03e-562148d6dfeb'}[name]],
                   f'{name}: jpylyzer finds {uuids}')
            expect(('li', 'Nachtwacht') in found, f'{name}: jpylyzer finds no XMP')  # whose contents it lists
        check_pixels(path, 'rgb24', where, f'{name} and xmp')


def check_resolutions(where):
    for capture, display in (300, 0), (600, 96), (1200.5, 72), (0, 150):
        path = encode(where + '/ppi.jp2', picture('gray'), *(('-capture_ppi', str(capture)) if capture else ()),
                      *(('-display_ppi', str(display)) if display else ()))
        if EXIFTOOL:
            found = exif(path, '-Jpeg2000:all')
            for kind, ppi in ('Capture', capture), ('Display', display):
                for axis in 'XY':
                    name = f'Jpeg2000:{kind}{axis}Resolution'  # a metre, less a power of ten
                    value = found.get(name, 0) * 10 ** found.get(name + 'Unit', 0) * 0.0254
                    expect(abs(value - ppi) < 0.02, f'{capture} and {display} ppi: ExifTool finds {value}')
        if JPYLYZER:
            found = dict(validate(path))
            expect(found['isValid'] == 'True', f'{capture} and {display} ppi: jpylyzer calls it invalid')
            for box, ppi in ('c', capture), ('d', display):
                for axis in 'vh':
                    value = found.get(f'{axis}Res{box}InPixelsPerInch')
                    expect(abs(float(value or 0) - ppi) < 0.1, f'{ppi} ppi: jpylyzer finds {value}')
        if PILLOW and capture:
            said = run(PILLOW, '-c', 'import sys; from PIL import Image; print(*Image.open(sys.argv[1]).info.get("dpi", ()))', path)
            expect([round(float(x)) for x in said.split()] == [round(capture)] * 2, f'{capture} ppi: Pillow finds {said}')


def check_pixels(path, pix_fmt, where, what):
    """Other programs make of a lossless file what it was made of; or show that they read it."""
    depth = 16 if '48' in pix_fmt or '16' in pix_fmt or '64' in pix_fmt else 8
    source = run(FFMPEG, '-nostdin', '-v', 'error', *picture(pix_fmt), '-frames:v', '1', '-f', 'rawvideo', '-')
    channels = {'gray': 1, 'gray16le': 1, 'ya8': 2, 'rgb24': 3, 'rgb48le': 3, 'rgba': 4, 'rgba64le': 4}[pix_fmt]
    if OPJ_DUMP:
        said = run(OPJ_DUMP, '-i', path).decode()
        expect(not re.search(r'\[(ERROR|WARNING)\]', said) and f'numcomps={channels}' in said, f'{what}: opj_dump says {said}')
        expect(said.count(f'prec={depth}') == channels, f'{what}: opj_dump finds other depths')
    if PILLOW and depth == 8:
        run(PILLOW, '-c', 'import sys; from PIL import Image; image = Image.open(sys.argv[1])\n'
            'open(sys.argv[2], "wb").write(image.mode.encode() + b" " + image.tobytes())', path, where + '/pillow')
        mode, found = read(where + '/pillow').split(b' ', 1)
        expect(mode.decode() == {1: 'L', 2: 'LA', 3: 'RGB', 4: 'RGBA'}[channels] and found == source, f'{what}: Pillow, mode {mode}')
    if IDENTIFY:
        said = run(IDENTIFY, '-format', '%m %w %h %[channels] %[bit-depth]', path).decode().lower().split()
        alpha = channels in (2, 4)
        expect(said[:3] == ['jp2', '90', '60'] and said[3].rstrip('0123456789.').endswith('a') == alpha and (depth > 8 or said[-1] == '8'),
               f'{what}: ImageMagick finds {said}')
        if channels > 2:
            convert = os.path.join(os.path.dirname(IDENTIFY), os.path.basename(IDENTIFY).replace('identify', 'convert'))
            found = run(convert, path, '-depth', str(depth), '-endian', 'LSB', ('rgba:' if alpha else 'rgb:') + '-')
            expect(found == source, f'{what}: what ImageMagick decodes')


def check_channels(where):
    """Depths and alpha."""
    for pix_fmt in 'gray', 'gray16le', 'ya8', 'rgb24', 'rgb48le', 'rgba', 'rgba64le':
        path = encode(where + '/channels.jp2', picture(pix_fmt), '-pred', 'dwt53')
        check_pixels(path, pix_fmt, where, pix_fmt)
        if not JPYLYZER:
            continue
        found = validate(path)
        expect(('isValid', 'True') in found, f'{pix_fmt}: jpylyzer calls it invalid')
        types = [text for tag, text in found if tag == 'cTyp']
        alpha = pix_fmt in ('ya8', 'rgba', 'rgba64le')
        expect(types == (['colour'] * (len(types) - 1) + ['opacity'] if alpha else []), f'{pix_fmt}: jpylyzer finds channels {types}')


def with_tag(profile, size):
    """An ICC profile with a private tag of so many bytes at its end."""
    count = struct.unpack('>I', profile[128:132])[0]
    tags = [struct.unpack('>4sII', profile[132 + 12 * i:144 + 12 * i]) for i in range(count)]
    tags = [(name, at + 12, length) for name, at, length in tags] + [(b'priv', len(profile) + 12, size)]
    body = profile[132 + 12 * count:] + bytes(i * 37 & 255 for i in range(size))
    whole = profile[4:128] + struct.pack('>I', count + 1) + b''.join(struct.pack('>4sII', *tag) for tag in tags) + body
    return struct.pack('>I', len(whole) + 4) + whole


def png(icc, gray=False):
    """A picture of 16x16 with a profile."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + bytes((x * 16, y * 16, 128)[i] for x in range(16) for i in range(1 if gray else 3)) for y in range(16))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 16, 16, 8, 0 if gray else 2, 0, 0, 0)) +
            chunk(b'iCCP', b'icc\0\0' + zlib.compress(icc)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def check_profiles_of_any_size(where):
    """ICC profiles come back byte for byte."""
    path = encode(where + '/p3.jp2', (*picture('rgb24')[:-1], 'format=rgb24,setparams=color_primaries=smpte432:color_trc=iec61966-2-1'))
    at = read(path).index(b'colr')
    profile = read(path)[at + 7:at - 4 + struct.unpack('>I', read(path)[at - 4:at])[0]]
    for size in (0, 65536, 3000000):
        icc = with_tag(profile, size) if size else profile
        with open(where + '/icc.png', 'wb') as file:
            file.write(png(icc))
        path = encode(where + '/icc.jp2', ('-i', where + '/icc.png'), '-pred', 'dwt53')
        expect(icc in read(path), f'an ICC profile of {len(icc)} bytes is not in the file')
        if EXIFTOOL:
            expect(run(EXIFTOOL, '-b', '-icc_profile', path) == icc, f'an ICC profile of {len(icc)} bytes: ExifTool')
        if JPYLYZER:
            found = dict(validate(path))
            expect(found['isValid'] == 'True' and found.get('meth') == 'Restricted ICC' and found.get('profileSize') == str(len(icc)),
                   f'an ICC profile of {len(icc)} bytes: jpylyzer finds {found.get("meth")}, {found.get("profileSize")}')
        if OPJ_DUMP:
            expect(b'[ERROR]' not in run(OPJ_DUMP, '-i', path), f'an ICC profile of {len(icc)} bytes: opj_dump')
        if IDENTIFY:
            said = run(IDENTIFY, '-format', '%[profile:icc]', path)
            expect(b'cudaenc' in said, f'an ICC profile of {len(icc)} bytes: ImageMagick finds {said}')


def profile_of(kind, space, tags):
    """An ICC profile of version 2: class, data colour space, {signature: data}."""
    body, table, at = b'', b'', 132 + 12 * len(tags)
    for name, data in tags.items():
        table += struct.pack('>4sII', name, at + len(body), len(data))
        body += data + b'\0' * (-len(data) % 4)
    head = struct.pack('>III4s4s4s6H4s', at + len(body), 0, 0x02200000, kind, space, b'XYZ ', 1998, 9, 1, 0, 0, 0, b'acsp')
    return head.ljust(68, b'\0') + struct.pack('>3I', 0xF6D6, 0x10000, 0xD32D) + b'\0' * 48 + struct.pack('>I', len(tags)) + table + body


def check_profile_kinds(where):
    """JP2 takes profiles of a matrix and curves, and of a curve for grey. Of others the session warns, once, as jpylyzer does."""
    texts = {b'desc': b'desc\0\0\0\0\0\0\0\x08cudaenc\0'.ljust(98, b'\0'), b'cprt': b'text\0\0\0\0cudaenc\0',
             b'wtpt': b'XYZ \0\0\0\0' + struct.pack('>3I', 0xF6D6, 0x10000, 0xD32D)}
    gamma = b'curv\0\0\0\0\0\0\0\1' + struct.pack('>H', int(2.2 * 256))
    third = b'XYZ \0\0\0\0' + struct.pack('>3I', 0xF6D6 // 3, 0x10000 // 3, 0xD32D // 3)
    matrix = {**texts, **{c + b'XYZ': third for c in (b'r', b'g', b'b')}, **{c + b'TRC': gamma for c in (b'r', b'g', b'b')}}
    tables = {**texts, b'A2B0': b'mft1\0\0\0\0' + bytes((3, 3, 2, 0)) + bytes(36) + bytes(3 * 256 + 24 + 3 * 256)}
    for name, kind, space, tags, fits in (
            ('matrix of an input device', b'scnr', b'RGB ', matrix, True), ('matrix of a display', b'mntr', b'RGB ', matrix, True),
            ('matrix of a colour space', b'spac', b'RGB ', matrix, False), ('tables', b'scnr', b'RGB ', tables, False),
            ('tables behind a matrix', b'scnr', b'RGB ', {**matrix, b'A2B0': tables[b'A2B0']}, False),
            ('grey with a gamma', b'scnr', b'GRAY', {**texts, b'kTRC': gamma}, True),
            ('grey of a printer', b'prtr', b'GRAY', {**texts, b'kTRC': gamma}, False)):
        icc = profile_of(kind, space, tags)
        source, path = where + '/kind.png', where + '/kind.jp2'
        with open(source, 'wb') as file:
            file.write(png(icc, space == b'GRAY'))
        for form in ('jp2', 'j2k'):
            done = subprocess.run([FFMPEG, '-nostdin', '-y', '-v', 'warning', '-loop', '1', '-i', source, '-frames:v', '3', '-c:v', 'j2k_cuda',
                                   '-device', DEVICE, '-format', form, '-f', 'image2', '-update', '1', path], capture_output=True, check=True)
            said = done.stderr.count(b'JP2 takes ICC profiles')
            expect(said == (form == 'jp2' and not fits), f'{name}, {form}: warned {said} times')
            expect((icc in read(path)) == (form == 'jp2'), f'{name}, {form}: the profile is not as expected')
            if JPYLYZER and form == 'jp2':
                found = dict(validate(path))
                expect((found['isValid'] == 'True') == fits, f'{name}: jpylyzer says {found["isValid"]}')


def check_left_out(where):
    """What JP2 and JPEG have no place for is said, once, and the files are valid. What they have one for is kept."""
    third = struct.pack('>III4s4s4s', 200, 0, 0x02200000, b'mntr', b'RGB ', b'XYZ ').ljust(200, b'\0')
    for name, icc, gray, line in (('zeros', bytes(100), False, b'of 100 bytes is left out: its header alone has 128'),
                                  ('RGB of gray', third, True, b"its colour space is 'RGB ', that of the samples 'GRAY'"),
                                  ('CMYK', third[:16] + b'CMYK' + third[20:], False, b"of the samples 'RGB ': they were converted, without the profile")):
        source = where + '/left.png'
        with open(source, 'wb') as file:
            file.write(png(icc, gray))
        for encoder, ending in ('j2k_cuda', 'jp2'), ('mjpeg_cuda', 'jpg'):
            path = f'{where}/left.{ending}'
            said = run(FFMPEG, '-nostdin', '-y', '-v', 'warning', '-i', source, '-c:v', encoder, '-device', DEVICE, '-f', 'image2', '-update', '1', path)
            expect(said.count(line) == 1, f'{name}, {encoder}: {said.decode()}')
            if JPYLYZER and ending == 'jp2':
                expect(('isValid', 'True') in validate(path), f'{name}: jpylyzer calls it invalid')
    if b'alpha_mode' in run(FFMPEG, '-v', 'error', '-h', 'filter=setparams'):  # from 8.1 on
        for mode, warned in ('premultiplied', 1), ('straight', 0):
            said = run(FFMPEG, '-nostdin', '-y', '-v', 'warning', *picture('gbrap')[:-1], f'format=gbrap,setparams=alpha_mode={mode}', '-c:v', 'j2k_cuda',
                       '-device', DEVICE, '-frames:v', '2', '-f', 'image2', '-update', '1', where + '/alpha.jp2')
            expect(said.count(b'premultiplied alpha') == warned, f'{mode} alpha: {said.decode()}')
    tiff = b'II*\0' + struct.pack('<IH', 8, 3) + b''.join(struct.pack('<HHII', *entry) for entry in (
        (0x11A, 5, 1, 50), (0x11B, 5, 1, 58), (0x128, 3, 1, 2))) + struct.pack('<5I', 0, 300, 1, 600, 1)
    exif = b'Exif\0\0' + tiff
    jpeg = f'{where}/exif.jpg'
    run(FFMPEG, '-nostdin', '-y', '-v', 'error', *picture('yuvj420p'), '-c:v', 'mjpeg_cuda', '-device', DEVICE, '-frames:v', '1', '-update', '1', jpeg)
    data = read(jpeg)
    with open(jpeg, 'wb') as file:
        file.write(data[:2] + struct.pack('>HH', 0xFFE1, len(exif) + 2) + exif + data[2:])
    path = where + '/exif.jp2'
    for number, source in enumerate((('-i', jpeg), ('-c:v', 'mjpeg_cuda', '-device', DEVICE, '-i', jpeg), ('-c:v', 'j2k_cuda', '-device', DEVICE, '-i', path))):
        again = encode(f'{where}/exif{number}.jp2', source)
        at = read(again).index(b'resc') + 4
        found = struct.unpack('>HHHHbb', read(again)[at:at + 10])
        dpi = [found[i] / found[i + 1] * 10 ** found[4 + i // 2] * 0.0254 for i in (0, 2)]
        expect(abs(dpi[0] - 600) < 0.1 and abs(dpi[1] - 300) < 0.1, f'300 and 600 dpi of EXIF become {dpi[::-1]}, {source}')
        shutil.copy(again, path)
    for decoder in (), ('-c:v', 'mjpeg_cuda', '-device', DEVICE):
        run(FFMPEG, '-nostdin', '-y', '-v', 'error', *decoder, '-i', jpeg, '-c:v', 'mjpeg_cuda', '-device', DEVICE, '-update', '1', where + '/kept.jpg')
        expect(struct.pack('>4I', 300, 1, 600, 1) in read(where + '/kept.jpg') or tiff in read(where + '/kept.jpg'), f'EXIF resolution in JPEG {decoder}')
    aspect = where + '/aspect.jpg'
    run(FFMPEG, '-nostdin', '-y', '-v', 'error', *picture('gbrp')[:-1], 'format=gbrp,setsar=16/11', '-c:v', 'mjpeg_cuda', '-device', DEVICE, '-frames:v', '1',
        '-update', '1', aspect)
    if EXIFTOOL:
        found = exif_of(aspect)
        expect(found == {'IFD0:XResolution': 11, 'IFD0:YResolution': 16, 'IFD0:ResolutionUnit': 'None'}, f'the aspect of RGB: {found}')


def exif_of(path):
    found = json.loads(run(EXIFTOOL, '-json', '-G1', '-IFD0:all', path))[0]
    return {name: value for name, value in found.items() if name.startswith('IFD0:') and not name.startswith('IFD0:YCbCr')}


# What the National Library of the Netherlands checks (KB_MASTER_LOSSLESS_01/01/2015, KB_ACCESS_LOSSY_01/01/2015), by jpylyzer's names.
LIBRARY = {'xTsiz': '1024', 'yTsiz': '1024', 'order': 'RPCL', 'levels': '5', 'codeBlockWidth': '64', 'codeBlockHeight': '64', 'sop': 'yes',
           'eph': 'yes', 'segmentationSymbols': 'yes', 'precincts': 'user defined', 'codingBypass': 'no', 'multipleComponentTransformation': 'yes'}
LIBRARIES = {'archive_lossless': {**LIBRARY, 'layers': '11', 'transformation': '5-3 reversible'},
             'access': {**LIBRARY, 'layers': '8', 'transformation': '9-7 irreversible'}}
OVERRIDES = (
    ('archive_lossless', ('-layers', '1', '-tile_width', '512', '-sop', '0', '-cblk_style', 'bypass', '-prog', 'rlcp'),
     {'layers': '1', 'xTsiz': '512', 'sop': 'no', 'segmentationSymbols': 'no', 'codingBypass': 'yes', 'order': 'RLCP'}),
    ('archive_lossless', ('-layer_rates', '8,4,1', '-levels', '6', '-mct', '0'),
     {'layers': '3', 'levels': '6', 'multipleComponentTransformation': 'no'}),
    ('access', ('-layers', '3', '-levels', '1'), {'layers': '3', 'levels': '1'}),
    ('access', ('-compression_ratio', '16', '-eph', '0', '-cblk_width', '32'), {'eph': 'no', 'codeBlockWidth': '32'}),
)


def check_libraries(where):
    size = '1100x700'
    for profile, options, changed in [(name, (), {}) for name in LIBRARIES] + list(OVERRIDES):
        path = encode(where + '/library.jp2', picture('rgb24', size), '-profile:v', profile, *options)
        what = f'{profile} {" ".join(options)}'.rstrip()
        stream = Codestream(read(path)[read(path).index(b'jp2c') + 4:])
        expect(stream.all(TLM) and all(any(s.code == PLT for s in part.segments) for part in stream.tile_parts), f'{what}: TLM and PLT')
        if JPYLYZER:
            found = validate(path)
            expect(('isValid', 'True') in found, f'{what}: jpylyzer calls it invalid')
            for name, value in {**LIBRARIES[profile], **changed}.items():
                expect(dict(found).get(name) == value, f'{what}: {name} is {dict(found).get(name)}')
            if 'levels' not in changed:
                for axis in 'XY':  # the lowest resolution first
                    sides = [text for tag, text in found if tag == 'precinctSize' + axis]
                    expect(sides == ['128'] * 4 + ['256'] * 2, f'{what}: precincts of {sides}')
            ratio = float(dict(found)['compressionRatio'])
            wanted = {'archive_lossless': (1, 20), 'access': (16, 16.2) if '16' in options else (20, 20.2)}[profile]
            expect(wanted[0] <= ratio <= wanted[1], f'{what}: compression ratio {ratio}')
        if profile == 'archive_lossless':
            source = run(FFMPEG, '-nostdin', '-v', 'error', *picture('rgb24', size), '-frames:v', '1', '-f', 'rawvideo', '-')
            found = run(FFMPEG, '-nostdin', '-v', 'error', '-i', path, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-')
            expect(found == source, f'{what}: not lossless')


def main():
    with tempfile.TemporaryDirectory() as where:
        for check in check_texts, check_resolutions, check_channels, check_profiles_of_any_size, check_profile_kinds, check_left_out, check_libraries:
            check(where)
    finish()


main()
