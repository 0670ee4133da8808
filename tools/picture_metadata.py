# SPDX-License-Identifier: LGPL-2.1-or-later
"""What TIFF, PNG and JPEG files tell beside samples, and how a JP2 or JPH file tells it."""
import dataclasses
import fractions
import io
import re
import struct
import zlib

EXIF_UUID = b"JpgTiffExif->JP2"
XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
IPTC_UUID = bytes.fromhex("33c7a4d2b81d4723a0baf1a3e097ad38")
RESOURCES_UUID = bytes.fromhex("2c4c0100850440b9a03e562148d6dfeb")  # image resources of Photoshop

INCH = fractions.Fraction(254, 10000)  # metres


@dataclasses.dataclass
class Metadata:
    known: bool = True  # whether the kind of file is read here
    pictures: int = 1
    refused: str = ""  # samples that a decoder would convert, in words
    icc: bytes = b""
    exif: bytes = b""  # a TIFF structure
    xmp: bytes = b""
    iptc: bytes = b""  # data sets of IIM
    resources: bytes = b""
    resolution: tuple = ()  # samples a metre of a row and of a column
    opacity: int = None  # Typ of the alpha channel (T.800 I.5.3.6), where the file tells: 1 straight, 2 premultiplied, 65535 neither
    lost: tuple = ()  # what is there and has no place in JP2, in words


class Tiff:
    """Directories of a TIFF structure (TIFF 6.0, section 2). Raises struct.error where it ends early."""
    SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}  # of a value, by type
    SUBFILE, PHOTOMETRIC, ORIENTATION, X_RESOLUTION, Y_RESOLUTION, UNIT, EXTRA_SAMPLES = 254, 262, 274, 282, 283, 296, 338
    XMP, IPTC, RESOURCES, EXIF, ICC, GPS, INTEROPERABILITY = 700, 33723, 34377, 34665, 34675, 34853, 40965
    # What describes the picture: texts, orientation, resolution. Others tell how samples are stored.
    DESCRIBES = {269, 270, 271, 272, ORIENTATION, X_RESOLUTION, Y_RESOLUTION, 285, UNIT, 305, 306, 315, 316, 33432, EXIF, GPS}

    def __init__(self, file):
        self.file, self.order = file, "<" if file.read(4)[:1] == b"I" else ">"

    def read(self, kind):
        return struct.unpack(self.order + kind, self.file.read(struct.calcsize(self.order + kind)))

    def directories(self):
        at, seen = self.read("I")[0], set()
        while at and at not in seen:
            seen.add(at)
            directory, at = self.directory(at)
            yield directory

    def directory(self, at):
        """{tag: (type, count, four bytes)}, and where the next one lies."""
        self.file.seek(at)
        entries = {tag: (kind, count, value) for tag, kind, count, value in [self.read("HHI4s") for _ in range(*self.read("H"))]}
        return entries, self.read("I")[0]

    def value(self, directory, tag):
        """The bytes of a value; none where the tag is not there."""
        kind, count, value = directory.get(tag, (7, 0, b""))
        size = self.SIZES.get(kind, 1) * count
        if size <= 4:
            return value[:size]
        self.file.seek(struct.unpack(self.order + "I", value)[0])
        value = self.file.read(size)
        if len(value) < size:
            raise struct.error("the file ends early")
        return value

    def numbers(self, directory, tag):
        kind = {1: "B", 3: "H", 4: "I", 5: "II"}.get(directory.get(tag, (0,))[0])
        value = self.value(directory, tag) if kind else b""
        return [one[0] if len(one) == 1 else one for one in struct.iter_unpack(self.order + kind, value)] if value else []

    def resolution(self, directory):
        """Samples a metre, or () where it is not told."""
        ratios = [fractions.Fraction(*ratio[0]) if ratio and ratio[0][1] else 0
                  for ratio in (self.numbers(directory, self.X_RESOLUTION), self.numbers(directory, self.Y_RESOLUTION))]
        unit = {2: INCH, 3: fractions.Fraction(1, 100)}.get((self.numbers(directory, self.UNIT) or [2])[0])
        return tuple(ratio / unit for ratio in ratios) if unit and all(ratios) else ()

    def exif(self, directory):
        """What describes the picture, as a structure of its own."""
        def copy(entries):
            found = {}
            for tag, (kind, count, value) in entries.items():
                if tag in (self.EXIF, self.GPS, self.INTEROPERABILITY) and kind in (4, 13):
                    found[tag] = (4, 1, copy(self.directory(struct.unpack(self.order + "I", value)[0])[0]))
                else:
                    found[tag] = (kind, count, self.value(entries, tag))
            return found
        kept = copy({tag: entry for tag, entry in directory.items() if tag in self.DESCRIBES})
        head = struct.pack(self.order + "2sHI", b"II" if self.order == "<" else b"MM", 42, 8)
        return head + self.pack(kept, 8) if kept else b""

    def pack(self, entries, at):
        """A directory for this place, with its values and the directories below it behind it."""
        table, values, end = b"", b"", at + 2 + 12 * len(entries) + 4
        for tag, (kind, count, value) in sorted(entries.items()):
            if isinstance(value, dict):
                value = self.pack(value, end + len(values))
                place = True
            else:
                place = len(value) > 4
            if place:
                value, values = struct.pack(self.order + "I", end + len(values)), values + value + bytes(len(value) % 2)
            table += struct.pack(self.order + "HHI", tag, kind, count) + value.ljust(4, b"\0")
        return struct.pack(self.order + "H", len(entries)) + table + bytes(4) + values


def read_tiff(file):
    tiff, m, first, count = Tiff(file), Metadata(), None, 0
    for directory in tiff.directories():
        first = directory if first is None else first
        subfile = tiff.numbers(directory, tiff.SUBFILE)
        count += not (subfile and subfile[0] & 1)  # 1: a smaller version of another picture
    m.pictures = max(count, 1)
    if not first:
        return m
    photometric = (tiff.numbers(first, tiff.PHOTOMETRIC) or [1])[0]
    if photometric not in (0, 1, 2, 3, 6):  # gray, RGB, a palette, YCbCr
        m.refused = "CMYK" if photometric == 5 else f"PhotometricInterpretation {photometric}"
    m.icc, m.xmp = tiff.value(first, tiff.ICC), tiff.value(first, tiff.XMP)
    m.iptc, m.resources = tiff.value(first, tiff.IPTC), tiff.value(first, tiff.RESOURCES)
    m.resolution, m.exif = tiff.resolution(first), tiff.exif(first)
    if extra := tiff.numbers(first, tiff.EXTRA_SAMPLES):
        m.opacity = {0: 65535, 1: 2, 2: 1}.get(extra[0])
    return m


def add_exif(m, exif):
    """Takes the resolution from it, unless it is 72 dpi, which EXIF has where it knows none (CIPA DC-008, 4.6.4)."""
    m.exif = exif
    try:
        tiff = Tiff(io.BytesIO(exif))
        resolution = tiff.resolution(next(tiff.directories(), {}))
    except struct.error:
        return
    if resolution and resolution != (72 / INCH, 72 / INCH):
        m.resolution = resolution


def text_of_png(kind, data):
    """(keyword, value) of a text chunk (PNG, 11.3.3)."""
    keyword, _, rest = data.partition(b"\0")
    if kind == b"zTXt":
        rest = zlib.decompress(rest[1:])
    elif kind == b"iTXt":
        compressed, rest = rest[:1] == b"\1", rest[2:].split(b"\0", 2)[-1]
        rest = zlib.decompress(rest) if compressed else rest
    return keyword.decode("latin-1"), rest


def read_png(file):
    m, lost = Metadata(), []
    file.seek(8)
    while len(head := file.read(8)) == 8:
        size, kind = struct.unpack(">I4s", head)
        if kind in (b"iCCP", b"eXIf", b"pHYs", b"tEXt", b"zTXt", b"iTXt"):
            data = file.read(size)
            file.seek(4, 1)
        else:
            file.seek(size + 4, 1)
            continue
        if kind == b"iCCP":
            m.icc = zlib.decompress(data.partition(b"\0")[2][1:])
        elif kind == b"eXIf":
            add_exif(m, data)
        elif kind == b"pHYs" and size == 9 and data[8] == 1 and all(struct.unpack(">II", data[:8])):
            m.resolution = tuple(map(fractions.Fraction, struct.unpack(">II", data[:8])))
        elif kind != b"pHYs":
            keyword, value = text_of_png(kind, data)
            raw = re.fullmatch("Raw profile type (exif|APP1|xmp|iptc|8bim)", keyword)  # as ImageMagick writes them: hexadecimal digits
            value = bytes.fromhex(b"".join(value.split()[2:]).decode("latin-1")) if raw else value
            if keyword == "XML:com.adobe.xmp" or raw and raw[1] == "xmp":
                m.xmp = value
            elif raw and value.startswith(b"Exif\0\0"):
                add_exif(m, value[6:])
            elif raw and raw[1] in ("iptc", "8bim"):
                take_iptc(m, value)
            else:
                lost.append(f"text '{keyword}'")
    m.lost = tuple(lost)
    return m


def take_iptc(m, data):
    if data.startswith(b"8BIM"):
        m.resources += data
    else:
        m.iptc = data


def read_jpeg(file):
    m, lost, icc = Metadata(), [], {}
    file.seek(2)
    while len(head := file.read(4)) == 4 and head[0] == 0xFF:
        code, size = head[1], struct.unpack(">H", head[2:])[0]
        if code == 0xFF:
            file.seek(-3, 1)
            continue
        data = file.read(size - 2)
        if code == 0xDA:
            break
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC) and data[5:6] == b"\4":
            m.refused = "CMYK"
        elif code == 0xE0 and data.startswith(b"JFIF\0"):
            unit, across, down = struct.unpack(">BHH", data[7:12])
            if unit in (1, 2) and across and down and not m.resolution:
                m.resolution = tuple(x / (INCH if unit == 1 else fractions.Fraction(1, 100)) for x in (across, down))
        elif code == 0xE1 and data.startswith(b"Exif\0"):
            add_exif(m, data[6:])
        elif code == 0xE1 and data.startswith(b"http://ns.adobe.com/xap/1.0/\0"):
            m.xmp = data[29:]
        elif code == 0xE2 and data.startswith(b"ICC_PROFILE\0"):
            icc[data[12]] = data[14:]
        elif code == 0xED and data.startswith(b"Photoshop 3.0\0"):
            m.resources += data[14:]
        elif code == 0xFE:
            lost.append("a comment")
        elif 0xE0 <= code <= 0xEF and code != 0xEE and not data.startswith(b"JFXX\0"):
            lost.append(f"APP{code - 0xE0} '{re.split(b'[^ -~]', data)[0].decode()}'")
    m.icc, m.lost = b"".join(icc[i] for i in sorted(icc)), tuple(lost)
    return m


def read_metadata(path):
    """Of a file. A part that is broken is lost, as `lost` says; whether the samples are broken a decoder tells."""
    with open(path, "rb") as file:
        head = file.read(26)
        file.seek(0)
        if head.startswith(b"8BPS"):
            mode = int.from_bytes(head[24:26], "big")
            return Metadata(known=False, refused={4: "CMYK", 7: "several inks", 9: "CIELab"}.get(mode, ""))
        read = (read_tiff if head[:4] in (b"II*\0", b"MM\0*") else read_png if head.startswith(b"\x89PNG\r\n\x1a\n")
                else read_jpeg if head.startswith(b"\xff\xd8\xff") else None)
        if not read:
            return Metadata(known=False)
        try:
            return read(file)
        except (struct.error, zlib.error, ValueError, IndexError, OverflowError, RecursionError):
            return Metadata(lost=("metadata that are broken",))


def boxes(data, at=0, end=None):
    """(type, contents) of boxes in a row (T.800 I.4)."""
    end = len(data) if end is None else end
    while at + 8 <= end:
        size, kind, head = *struct.unpack(">I4s", data[at:at + 8]), 8
        if size == 1:
            size, head = struct.unpack(">Q", data[at + 8:at + 16])[0], 16
        size = size or end - at
        if size < head or at + size > end:
            break
        yield kind, data[at + head:at + size]
        at += size


def box(kind, contents):
    if len(contents) + 8 > 0xFFFFFFFF:
        return struct.pack(">I4sQ", 1, kind, len(contents) + 16) + contents
    return struct.pack(">I4s", len(contents) + 8, kind) + contents


def resolution_box(resolution):
    """Captured samples a metre, of a column first: ratios of 16 bits and powers of ten (I.5.3.7.1)."""
    ratios, exponents = b"", b""
    for value in reversed(resolution):
        exponent = 0
        while value > 65535:
            value, exponent = value / 10, exponent + 1
        value = fractions.Fraction(value).limit_denominator(65535 if value <= 1 else int(65535 / value) or 1)
        ratios += struct.pack(">HH", value.numerator, value.denominator)
        exponents += bytes([exponent])
    return box(b"resc", ratios + exponents)


def with_metadata(jp2, m):
    """A JP2 or JPH file that tells what the source does. What it tells already stays, but for EXIF: FFmpeg takes the
    orientation out of that."""
    found = list(boxes(jp2))
    uuids = {contents[:16] for kind, contents in found if kind == b"uuid"}
    wanted = [(EXIF_UUID, m.exif), (RESOURCES_UUID, m.resources), (IPTC_UUID, m.iptc), (XMP_UUID, m.xmp)]
    out = b""
    for kind, contents in found:
        if kind == b"jp2h":
            header = list(boxes(contents))
            resolutions = dict(header).get(b"res ", b"")
            if m.resolution and b"resc" not in dict(boxes(resolutions)):
                header = [one for one in header if one[0] != b"res "] + [(b"res ", resolutions + resolution_box(m.resolution))]
            if m.opacity:
                header = [(name, with_opacity(data, m.opacity) if name == b"cdef" else data) for name, data in header]
            out += box(kind, b"".join(box(*one) for one in header))
            out += b"".join(box(b"uuid", uuid + data) for uuid, data in wanted if data and (uuid == EXIF_UUID or uuid not in uuids))
        elif not (kind == b"uuid" and contents[:16] == EXIF_UUID and m.exif):
            out += box(kind, contents)
    return out


def with_opacity(cdef, opacity):
    """A channel definition box whose last channel has this type; one of no type is of no colour, either."""
    return cdef[:-4] + struct.pack(">HH", opacity, 65535 if opacity == 65535 else 0)


def sizes_of(jp2):
    """Of a file that is whole: its brand, width, height, components, bits of a sample. None: it is not."""
    found = dict(boxes(jp2))
    header = dict(boxes(found.get(b"jp2h", b""))).get(b"ihdr", b"")
    if len(header) < 11 or not found.get(b"jp2c", b"").endswith(b"\xff\xd9"):
        return None
    height, width, components, depth = struct.unpack(">IIHB", header[:11])
    return found.get(b"ftyp", b"")[:4], width, height, components, depth + 1
