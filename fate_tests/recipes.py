#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Executes the commands of docs/recipes.md, each block by bash in one folder, and looks at what they left.

Usage: recipes.py FFMPEG_BUILD    Ends in a line "N passed, N failed".
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zlib

from tally import expect, finish

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import to_jp2  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
WORK = BUILD.parent / "check" / "recipes"


def run(script):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=WORK, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "LC_ALL": "C"})


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def with_profile(png, profile):
    """A PNG file with an ICC profile behind its header."""
    return png[:33] + chunk(b"iCCP", b"a profile\0\0" + zlib.compress(profile)) + png[33:]


def profile_of(jp2):
    """The ICC profile of a JP2 file's colour specification (T.800 I.5.3.3), or None."""
    at = jp2.find(b"colr")
    return jp2[at + 7:at + struct.unpack(">I", jp2[at - 4:at])[0] - 4] if jp2[at + 4] == 2 else None


def jp2_size(jp2):
    at = jp2.find(b"ihdr")
    height, width, _, depth = struct.unpack(">IIHB", jp2[at + 4:at + 15])
    return width, height, depth + 1


def main_header(codestream):
    """The marker segments of a codestream's main header, by marker, with their lengths."""
    found, at = {}, 2
    while codestream[at:at + 2] != b"\xff\x90":
        marker, length = struct.unpack(">HH", codestream[at:at + 4])
        found[marker] = codestream[at + 2:at + 2 + length]
        at += 2 + length
    return found


def palette_png(alpha):
    """A PNG file of 40x30 with a palette of four colours, of which some may let light through."""
    rows = b"".join(b"\0" + bytes((7 * x + y) % 4 for x in range(40)) for y in range(30))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 30, 8, 3, 0, 0, 0)) + chunk(b"PLTE", bytes(range(0, 240, 20)))
            + (chunk(b"tRNS", alpha) if alpha else b"") + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def add_page(tiff):
    """Another page with the samples of the first; ffmpeg writes one, in little endian."""
    data = bytearray(tiff.read_bytes())
    at, = struct.unpack_from("<I", data, 4)
    size = 2 + 12 * struct.unpack_from("<H", data, at)[0]
    data += bytes(len(data) % 2)
    struct.pack_into("<I", data, at + size, len(data))
    tiff.write_bytes(data + data[at:at + size] + bytes(4))


# An ICC profile that is whole as far as readers look: its size and signature.
PROFILE = struct.pack(">I", 160) + b"test" + bytes(4) + b"mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(120)

def make_inputs():
    """What the page takes for granted: a clip, scans, and raw video of rare formats."""
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "scans").mkdir(parents=True)
    (WORK / "tools").symlink_to(ROOT / "tools")
    source = "testsrc2=s={}:r=24,format=rgb48,noise=alls=30:allf=t,format={}"
    inputs = [("320x180", "yuv422p10le", "-frames:v 24 -c:v ffv1 in.mkv"), ("180x144", "yuv422p10le", "-frames:v 3 -c:v ffv1 tape.mkv"),
              ("1920x1080", "yuv422p10le", "-frames:v 2 -c:v ffv1 1080i50.mkv"), ("200x100", "rgb24", "-frames:v 1 scans/a.png"),
              ("100x220", "rgb48be", "-frames:v 1 scans/b.png"), ("200x100", "rgb24", "-frames:v 1 scans/c.png"),
              ("64x64", "gray16be", "-frames:v 1 scans/d.png"), ("90x70", "rgb24", "-frames:v 1 scans/e.tif"),
              ("64x48", "gray10le", "-frames:v 3 -c:v rawvideo gray10.nut"), ("64x48", "yuva444p12le", "-frames:v 3 -c:v rawvideo -strict -2 yuva12.nut"),
              ("64x48", "xyz12le", "-frames:v 3 -c:v rawvideo xyz12.nut")]
    for size, pixel_format, output in inputs:
        made = run(f"ffmpeg -v error -f lavfi -i {source.format(size, pixel_format)} {output}")
        expect(made.returncode == 0, f"{output}: {made.stderr}")
    scan = WORK / "scans" / "a.png"
    scan.write_bytes(with_profile(scan.read_bytes(), PROFILE))


def run_page():
    """Runs each block of the page. Returns what they printed."""
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    printed = ""
    for block in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S):
        done = run(block)
        printed += done.stdout
        expect(done.returncode == 0, f"{block}{done.stdout}{done.stderr}")
    return printed


def check_printed(printed):
    for line in ("lossless", "gray10: lossless", "yuva12: lossless", "xyz12: lossless", "yuv444: lossless", "the same", "no file is broken", "HTJ2K: lossless",
                 "5 files in 5 groups of one size and format, 0 failed", "no picture is broken"):
        expect(line in printed.splitlines(), f"nothing printed '{line}'")
    expect(len(re.findall(r"^\| in \| \d+ \| [\d.]+ \| [\d.]+ \| 0\.\d+ \| [\d.]* \|$", printed, re.M)) == 5, "the ladder's rows")


def check_ladder():
    """Lossless has no end of decibels; a row that cannot be measured is no row."""
    lossless = run("QUALITIES=90 FRAMES=1 OPTIONS='-pred dwt53' tools/ladder.sh j2k_cuda in.mkv | tail -n 1")
    expect(re.match(r"\| in \| 90 \| [\d.]+ \| inf \| 1\.0000 \|", lossless.stdout), f"{lossless.stdout}{lossless.stderr}")
    (WORK / "unmeasured").mkdir()
    wrapper = WORK / "unmeasured" / "ffmpeg"
    wrapper.write_text(f'#!/bin/sh\nfor x; do case $x in *psnr=*) exit 1 ;; esac; done\nexec "{BUILD}/ffmpeg" "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    wrong = run("! PATH=$PWD/unmeasured:$PATH QUALITIES=90 FRAMES=1 tools/ladder.sh j2k_cuda in.mkv")
    expect(wrong.returncode == 0 and "| 90 |" not in wrong.stdout and "cannot be measured" in wrong.stderr, f"{wrong.stdout}{wrong.stderr}")


def check_psnr():
    decibels = run("ffmpeg -v error -i at_least_46_dB.mxf -i in.mkv -lavfi '[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];"
                   "[a][b]psnr=stats_file=-' -f null -").stdout
    expect(all(46 <= float(dB) < 47 for dB in re.findall(r"psnr_avg:(\S+)", decibels)) and "psnr_avg" in decibels, f"46 dB: {decibels}")


def check_jp2_files():
    sizes = {"a": (200, 100, 8), "b": (100, 220, 16), "c": (200, 100, 8), "d": (64, 64, 16), "e": (90, 70, 8)}
    for name, size in sizes.items():
        jp2 = (WORK / "jp2" / f"{name}.jp2").read_bytes()
        expect(jp2_size(jp2) == size, f"{name}.jp2 has {jp2_size(jp2)}")
        expect((profile_of(jp2) == PROFILE) == (name == "a"), f"the ICC profile of {name}.jp2")
    expect((WORK / "small" / "a.jp2").stat().st_size < (WORK / "jp2" / "a.jp2").stat().st_size * 2 / 3, "small files")


def check_to_jp2():
    """What the page does not try."""
    again = run("tools/to_jp2.py jp2 scans/*.png scans/*.tif")
    expect(again.stdout == "0 files in 0 groups of one size and format, 5 kept unverified, 0 failed\n", f"files that exist are kept: {again.stdout}")
    twice = run("cp scans/e.tif scans/a.tif; tools/to_jp2.py twice scans/a.png scans/a.tif")
    expect(twice.returncode and "would be written twice" in twice.stderr, "two sources of one name")
    broken = run("echo nothing >scans/z.png; tools/to_jp2.py broken scans/z.png scans/a.png")
    expect(broken.returncode and "z.png" in broken.stderr and (WORK / "broken" / "a.jp2").is_file(), "a file that is no picture")
    # Bits, palettes, and a file that ends early among others.
    (WORK / "clear.png").write_bytes(palette_png(bytes([255, 128, 0])))
    (WORK / "opaque.png").write_bytes(palette_png(b""))
    rare = run("ffmpeg -v error -f lavfi -i testsrc2=s=60x42 -frames:v 1 -pix_fmt monob bits.png; tools/to_jp2.py --verify rare clear.png opaque.png bits.png; "
               "for n in clear opaque bits; do ffprobe -v error -show_entries stream=pix_fmt -of csv=p=0 rare/$n.jp2; done")
    expect(rare.stdout.split("\n")[:4] == ["3 files in 3 groups of one size and format, 0 failed", "rgba", "rgb24", "gray"], f"{rare.stdout}{rare.stderr}")
    cut = run("head -c 5000 scans/c.png >cut.png; tools/to_jp2.py cut scans/a.png scans/c.png cut.png || ls cut")
    expect("1 failed" in cut.stdout and cut.stdout.endswith("a.jp2\nc.jp2\n"), f"a file that ends early: {cut.stdout}{cut.stderr}")
    wrong = run("tools/to_jp2.py wrong scans/a.png scans/c.png -- -levels 99 || ls wrong")
    expect(wrong.stdout.endswith(", 2 failed\n") and "Traceback" not in wrong.stderr, f"options that are refused: {wrong.stdout}{wrong.stderr}")
    kinds = run("tools/to_jp2.py --verify cpu scans/a.png -- -device cpu; tools/to_jp2.py --verify ht scans/a.png -- -cblk_style ht; ls cpu ht")
    expect(kinds.stdout.split() == (["1", *"files in 1 groups of one size and format, 0 failed".split()] * 2 + "cpu: a.jp2 ht: a.jph".split()),
           f"options add to lossless, HT makes JPH files: {kinds.stdout}{kinds.stderr}")
    misnamed = run("tools/to_jp2.py misnamed scans/a.png -- -cblk_style 64 || ls -A misnamed")
    expect(misnamed.stdout == "" and misnamed.stderr == "to_jp2.py: these options make files that are not .jp2: -cblk_style 64\n", f"{misnamed.stdout}{misnamed.stderr}")
    lossy = run("tools/to_jp2.py --verify lossy scans/a.png -- -pred dwt97 || ls -A lossy")
    expect(lossy.stdout.endswith(", 1 failed\n") and "it has other pixels" in lossy.stderr, f"a name before the file is right: {lossy.stdout}{lossy.stderr}")
    bare = run("tools/to_jp2.py bare scans/a.png -- -format j2k || ls -A bare")
    expect(bare.stdout == "" and bare.stderr == "to_jp2.py: these options make no JP2 files: -format j2k\n", f"codestreams: {bare.stdout}{bare.stderr}")
    nowhere = run("tools/to_jp2.py scans/a.png/jp2 scans/a.png")
    expect(nowhere.stderr == "to_jp2.py: scans/a.png/jp2: Not a directory\n", f"a folder that cannot be: {nowhere.stderr}")


def check_existing():
    """Files that exist are verified too: another picture, one of other metadata, a part of a file, nothing."""
    run("mkdir exist; cp jp2/*.jp2 exist; cp exist/c.jp2 exist/a.jp2; truncate -s -1 exist/b.jp2; : >exist/d.jp2; "
        "ffmpeg -v error -y -i jp2/c.jp2 -vf hflip -c:v j2k_cuda -device cpu -pred dwt53 -update 1 exist/c.jp2")
    verified = run("tools/to_jp2.py --verify exist scans/a.png scans/[bcd].png scans/e.tif || true")
    expect(verified.stdout == "0 files in 0 groups of one size and format, 1 kept, 4 failed\n" and verified.stderr.splitlines() == [
        f"to_jp2.py: scans/{name}.png: exist/{name}.jp2, which exists, is not like it: it {how}"
        for name, how in (("a", "lacks its ICC profile"), ("b", "is no whole JP2 file"), ("c", "has other pixels"), ("d", "is no whole JP2 file"))],
           f"{verified.stdout}{verified.stderr}")
    kept = run("tools/to_jp2.py exist scans/a.png scans/[bcd].png scans/e.tif || true")
    expect(kept.stdout == "0 files in 0 groups of one size and format, 3 kept unverified, 2 failed\n", f"{kept.stdout}{kept.stderr}")


def tiff_directory(entries, at):
    """In little endian, {tag: (type, count, value)}, with its values behind it."""
    table, values = struct.pack("<H", len(entries)), b""
    for tag, (kind, count, value) in sorted(entries.items()):
        if len(value) > 4:
            value, values = struct.pack("<I", at + 6 + 12 * len(entries) + len(values)), values + value + bytes(len(value) % 2)
        table += struct.pack("<HHI", tag, kind, count) + value.ljust(4, b"\0")
    return table + bytes(4) + values


DESCRIPTION = {274: (3, 1, b"\6\0"), 282: (5, 1, struct.pack("<II", 300, 1)), 283: (5, 1, struct.pack("<II", 600, 1)),
               296: (3, 1, b"\2\0"), 305: (2, 8, b"scanner\0")}
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
IPTC = b"\x1c\2\5\0\4scan"


def make_tiff(path, photometric=2, samples=3, extra=()):
    """A picture of 8x8 that tells all that is kept."""
    at = 8
    entries = {256: (3, 1, b"\x08\0"), 257: (3, 1, b"\x08\0"), 258: (3, samples, struct.pack("<H", 8) * samples), 259: (3, 1, b"\1\0"),
               262: (3, 1, struct.pack("<H", photometric)), 273: (4, 1, bytes(4)), 277: (3, 1, struct.pack("<H", samples)), 278: (3, 1, b"\x08\0"),
               279: (4, 1, struct.pack("<I", 64 * samples)), 700: (1, len(XMP), XMP), 33723: (7, len(IPTC), IPTC), **DESCRIPTION}
    if extra:
        entries[338] = (3, len(extra), struct.pack(f"<{len(extra)}H", *extra))
    entries[273] = (4, 1, struct.pack("<I", at + len(tiff_directory(entries, at))))
    path.write_bytes(b"II*\0" + struct.pack("<I", at) + tiff_directory(entries, at) + bytes(range(64)) * samples)


def check_metadata():
    """Resolution, EXIF, XMP and IPTC of TIFF, PNG and JPEG; alpha of each kind; what is refused, and what is said."""
    folder = WORK / "told"
    folder.mkdir()
    exif = b"II*\0" + struct.pack("<I", 8) + tiff_directory(DESCRIPTION, 8)
    make_tiff(folder / "tiff.tif")
    png = (WORK / "scans" / "c.png").read_bytes()
    (folder / "png.png").write_bytes(png[:33] + chunk(b"eXIf", exif) + chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP) + chunk(
        b"zTXt", b"Raw profile type iptc\0\0" + zlib.compress(b"\niptc\n%8d\n%s\n" % (len(IPTC), IPTC.hex().encode()))) + chunk(b"tEXt", b"Title\0a") + png[33:])
    made = run("ffmpeg -v error -f lavfi -i testsrc2=s=60x42 -frames:v 1 -pix_fmt yuvj420p -bitexact told/jpeg.jpg")
    jpeg = (folder / "jpeg.jpg").read_bytes()
    resources = b"8BIM\4\4\0\0" + struct.pack(">I", len(IPTC)) + IPTC + bytes(len(IPTC) % 2)
    segments = ((0xE1, b"Exif\0\0" + exif), (0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP), (0xED, b"Photoshop 3.0\0" + resources),
                (0xE2, b"ICC_PROFILE\0\1\1" + PROFILE), (0xFE, b"by hand"))
    (folder / "jpeg.jpg").write_bytes(jpeg[:2] + b"".join(struct.pack(">BBH", 255, code, len(data) + 2) + data for code, data in segments) + jpeg[2:])
    told = run("tools/to_jp2.py --verify told/jp2 told/tiff.tif told/png.png told/jpeg.jpg")
    expect(not made.returncode and not told.returncode and told.stderr.splitlines() == [
        "to_jp2.py: told/png.png: left out are text 'Title'",
        "to_jp2.py: told/jpeg.jpg: left out are a comment, its ICC profile of 160 bytes, colour space 'RGB', for YUV samples"], f"{told.stdout}{told.stderr}")
    for name, iptc in ("tiff", IPTC), ("png", IPTC), ("jpeg", resources):
        file = (folder / "jp2" / f"{name}.jp2").read_bytes()
        found = list(to_jp2.picture_metadata.boxes(file))
        uuids = {contents[:16]: contents[16:] for kind, contents in found if kind == b"uuid"}
        expect(uuids.pop(b"JpgTiffExif->JP2", None) == exif, f"{name}: EXIF")
        expect(sorted(uuids.values()) == sorted((XMP, iptc)), f"{name}: XMP and IPTC are {uuids}")
        # T.800 I.5.3.7.1: samples a metre of a column, then of a row, ratios with powers of ten
        at = file.index(b"resc") + 4
        values = struct.unpack(">HHHHbb", file[at:at + 10])
        expect([round(values[i] / values[i + 1] * 10 ** values[4 + i // 2] * 0.0254, 2) for i in (0, 2)] == [600, 300], f"{name}: {values}")
    for extra, definition in ((0,), (65535, 65535)), ((1,), (2, 0)), ((2,), (1, 0)):
        make_tiff(folder / "alpha.tif", samples=4, extra=extra)
        alpha = run("rm -f told/jp2/alpha.jp2; tools/to_jp2.py --verify told/jp2 told/alpha.tif")
        file = (folder / "jp2" / "alpha.jp2").read_bytes()
        at = file.index(b"cdef") + 4 + 2 + 3 * 6
        expect(not alpha.returncode and struct.unpack(">HHH", file[at:at + 6]) == (3, *definition), f"ExtraSamples {extra}: {alpha.stderr}{file[at:at + 6]}")
    make_tiff(folder / "cmyk.tif", photometric=5, samples=4)
    cmyk = run("tools/to_jp2.py told/jp2 told/cmyk.tif || ls told/jp2/cmyk.jp2")
    expect(cmyk.stderr.startswith("to_jp2.py: told/cmyk.tif: has samples of CMYK, which FFmpeg would convert\n") and cmyk.returncode, f"{cmyk.stdout}{cmyk.stderr}")
    if shutil.which("exiftool"):
        find = next(line.strip() for line in (ROOT / "docs/archives.md").read_text(encoding="utf-8").splitlines()
                    if line.startswith("    exiftool") and line.endswith(" scans"))
        (folder / "cmyk.jpg").write_bytes(b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 20, 8, 8, 8, 4) + bytes((1, 17, 0, 2, 17, 0, 3, 17, 0, 4, 17, 0)) + b"\xff\xd9")
        found = run(find.removesuffix("scans") + "told")
        expect(sorted(found.stdout.split()) == ["told/cmyk.jpg", "told/cmyk.tif"], f"CMYK found: {found.stdout}{found.stderr}")


def check_odd_sources():
    """Full range; names that FFmpeg takes for patterns, protocols and options; pages; formats that the encoder has not."""
    many = run("ffmpeg -v error -f lavfi -i testsrc2=s=60x42 -frames:v 1 -pix_fmt yuvj420p full.jpg; "
               "for n in %d 50% x:y -i; do cp scans/c.png ./$n.png; done; tools/to_jp2.py --verify many%d:1 full.jpg ./*%*.png ./x:y.png ./-i.png; ls many%d:1")
    expect(many.stdout.splitlines() == ["5 files in 2 groups of one size and format, 0 failed", "%d.jp2", "-i.jp2", "50%.jp2", "full.jp2", "x:y.jp2"],
           f"{many.stdout}{many.stderr}")
    shutil.copy(WORK / "scans" / "e.tif", WORK / "pages.tif")
    add_page(WORK / "pages.tif")
    pages = run("tools/to_jp2.py pages scans/e.tif pages.tif || true")
    expect(pages.stdout.startswith("1 files in 1 groups") and pages.stderr == "to_jp2.py: pages.tif: has several pictures\n", f"{pages.stdout}{pages.stderr}")
    for own, coded in ("rgb565le", "rgb24"), ("bgr8", "rgb24"), ("rgb48be", "rgb48le"), ("monow", "gray"), ("gbrpf32le", None), ("grayf16le", None):
        found = to_jp2.coded_format("ffmpeg", "", own)
        expect(found == coded, f"{own} becomes {found}")


def check_video():
    for name in "master.mxf", "master.mov", "mezzanine.mxf":
        codec = run(f"ffprobe -v error -count_packets -show_entries stream=codec_name,nb_read_packets -of csv=p=0 {name}").stdout
        expect(codec.strip().strip(",") == "jpeg2000,24", f"{name}: {codec}")
    expect(run("ffprobe -v error -count_packets -show_entries stream=codec_name,nb_read_packets -of csv=p=0 camera.mxf").stdout.strip().strip(",")
           == "jpeg2000,24", "camera.mxf")


def check_interlaced():
    for name, wanted in ("tape.mxf", ["jpeg2000", "3"]), ("tape.mov", ["mjpeg", "tt", "3"]), ("tape_h264.mxf", ["h264", "3"]):
        told = run(f"ffprobe -v error -count_packets -show_entries stream=codec_name,field_order,nb_read_packets -of csv=p=0 {name}").stdout
        told = [word for word in told.strip().strip(",").split(",") if word != "unknown"]
        expect(told == wanted or (name == "tape.mxf" and told[::len(told) - 1] == wanted), f"{name}: {told}, not {wanted}")
    frames = run("ffprobe -v error -show_entries frame=interlaced_frame,top_field_first,height -of csv=p=0 tape_h264.mxf").stdout.split()
    expect([frame.strip(",") for frame in frames] == ["144,1,1"] * 3, f"tape_h264.mxf: {frames}")
    told = run("ffprobe -v error -show_entries stream=codec_name,profile -show_entries packet=size -of csv=p=0 avcintra.mxf").stdout.splitlines()
    expect(told == ["568832"] * 2 + ["h264,High 4:2:2 Intra"], f"avcintra.mxf: {told}")
    expect(bytes.fromhex("060e2b340401010a0401020201323102") in (WORK / "avcintra.mxf").read_bytes(), "avcintra.mxf: no label of AVC-Intra 100 1080i50")
    fields = run("ffmpeg -v error -i tape.mxf -c copy -f rawvideo tape.j2c").returncode or (WORK / "tape.j2c").read_bytes().count(b"\xff\x4f\xff\x51")
    expect(fields == 6, f"tape.mxf: {fields} codestreams")


def check_decoding():
    said = run("ffprobe -v error -select_streams v:0 -count_packets -show_entries stream=codec_name,width,height,nb_read_packets -of csv=p=0 proxy.mp4").stdout
    expect(said.strip().strip(",") == "h264,999,540,2", f"proxy.mp4: {said}")
    rgb = "-pix_fmt rgb24 -f rawvideo -"
    crop = run(f'cmp <(ffmpeg -v error -i detail.png {rgb}) <(ffmpeg -v error -i scans/a.png -vf crop=96:48:64:32 {rgb})')
    expect(crop.returncode == 0, f"detail.png: {crop.stdout}{crop.stderr}")
    block = next(b for b in re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"), re.M | re.S) if "archive.log" in b)
    broken = run("mv jp2 whole; mkdir jp2; cp whole/a.jp2 jp2; head -c -800 whole/b.jp2 >jp2/b.jp2\n" + block + "rm -r jp2; mv whole jp2")
    expect(re.fullmatch(r"jp2/b.jp2: .*j2k_cuda.*JPEG 2000.*\n", broken.stdout), f"a broken file: {broken.stdout}{broken.stderr}")


def check_imf():
    for folder, profile in ("lossless", "imf2k_r"), ("lossy", "imf2k"), ("ht_lossless", "imf_ht_r"), ("ht_lossy", "imf_ht"):
        files = sorted((WORK / "imf" / folder).iterdir())
        broken = subprocess.run([sys.executable, ROOT / "fate_tests/interop/profile_rules.py", profile, "24", *files], capture_output=True, text=True)
        expect(len(files) == 24 and not broken.returncode, f"imf/{folder}: {broken.stdout}{broken.stderr}")
    for folder in "lossy", "ht_lossy":
        expect(max(file.stat().st_size for file in (WORK / "imf" / folder).iterdir()) <= 10_000_000 / 8 / 24, f"10 Mbit/s of imf/{folder}")


def check_htj2k():
    for name, like, lossless in (("lossless", "jph ", True), ("lossy", "jph ", False)):
        jph = (WORK / f"{name}.jph").read_bytes()
        expect(jph[20:24] == like.encode() and jp2_size(jph) == (200, 100, 8), f"{name}.jph: {jph[:32]}")
        pixels = [run(f"ffmpeg -v error {source} -pix_fmt rgb24 -f rawvideo - | md5sum") for source in (f"-i {name}.jph", "-i scans/a.png")]
        expect(not any(p.returncode for p in pixels) and (pixels[0].stdout == pixels[1].stdout) == lossless, f"{name}.jph: {pixels}")
    like = run("for style in 0 ht; do for name in like.jph like.jp2; do ffmpeg -y -v warning -i scans/a.png -c:v j2k_cuda -device cpu -cblk_style $style "
               "-update 1 $name; done; done")
    expect(re.findall(r"(\S+) has the content of a (\w+) file;", like.stderr) == [("like.jph", "JP2"), ("like.jp2", "JPH")], f"JP2 in JPH: {like.stderr}")
    names = run("for name in a.jhc b.jph; do for format in j2k jp2; do ffmpeg -y -v warning -i scans/a.png -c:v j2k_cuda -device cpu -cblk_style ht "
                "-format $format -update 1 $name; done; done; ffprobe -v error -show_entries stream=codec_name -of csv=p=0 a.jhc")
    expect(re.findall(r"(\S+) has (.*);", names.stderr) == [("a.jhc", "the boxes of JP2"), ("b.jph", "a bare codestream")] and names.stdout.startswith("jpeg2000"),
           f"names of HTJ2K: {names.stdout}{names.stderr}")


def check_dicom():
    for name, order, levels, reversible, has_tlm in ("lossless", 0, None, 1, False), ("rpcl", 2, 5, 1, True), ("any", 0, None, 0, False):
        files = sorted((WORK / "dicom").glob(f"{name}*.j2c"))
        expect(len(files) == 3, f"dicom: {files}")
        for file in files:
            found = main_header(file.read_bytes())
            expect(found[0xFF51][2:4] >= b"\x40\0" and 0xFF50 in found, f"{file}: no HT in Rsiz, or no CAP")
            cod = found[0xFF52]
            expect(cod[3] == order and cod[10] == 64 and cod[11] == reversible and levels in (None, cod[7]), f"{file}: COD {cod.hex()}")
            expect((0xFF55 in found) == has_tlm, f"{file}: TLM")
        words = run(f"ffmpeg -v error -i dicom/{name}001.j2c -vf lut=c0=val/64 -f rawvideo - | md5sum; ffmpeg -v error -i gray10.nut -frames:v 1 -f rawvideo - | md5sum")
        expect((len(set(words.stdout.split())) == 2) == bool(reversible), f"dicom/{name}: {words.stdout}{words.stderr}")


def check_thumbnails():
    expect((WORK / "preview.jpg").read_bytes()[:2] == b"\xff\xd8", "preview.jpg")
    thumbnail = (WORK / "thumbnail001.png").read_bytes()
    expect(struct.unpack(">II", thumbnail[16:24]) == (40, 23), "an eighth of 320x180")


def check_delivery():
    """Packets of P pictures leave in the order of frames, with key frames where they were asked for."""
    for name, keys in ("small.mp4", [0]), ("fragments.mp4", [0]), ("live.ts", [0, 12]):
        told = run(f"ffprobe -v error -show_entries packet=pts,dts,flags -of csv=p=0 {name}").stdout.split()
        packets = [line.split(",")[:3] for line in told]
        expect(len(packets) == 24 and all(pts == dts for pts, dts, _ in packets), f"{name}: {told}")
        expect([i for i, (_, _, flags) in enumerate(packets) if "K" in flags] == keys, f"key frames of {name}: {told}")
    sizes = run("ffmpeg -v error -i in.mkv -pix_fmt yuv420p -c:v h264_cavlc_cuda -device cpu -crf 26 intra.mp4; stat -c %s small.mp4 intra.mp4").stdout.split()
    expect(int(sizes[0]) < int(sizes[1]), f"P pictures take fewer bytes: {sizes}")


def check_segments():
    """A segment whose job was killed is encoded again, and the others are not."""
    kept = (WORK / "frames" / "00000000.j2c").stat().st_mtime_ns
    retried = run("rm frames/.segment-8-8 frames/0000000[89].j2c frames/0000001[0-5].j2c && mkdir frames/.work-8-dead && for n in 0 8 16; do tools/encode_segment.sh "
                  "in.mkv $n 8 frames j2c -c:v j2k_cuda -device cpu -q:v 90 -format j2k; done; rm -r frames/.work-8-dead; ls frames | wc -l")
    expect(retried.stdout.strip() == "24", f"segments: {retried.stdout}{retried.stderr}")
    expect((WORK / "frames" / "00000000.j2c").stat().st_mtime_ns == kept, "a segment that is there is kept")
    no_video = run("tools/encode_segment.sh nothing.mkv 0 8 none j2c -c:v j2k_cuda")
    expect(no_video.returncode == 1 and no_video.stderr.endswith("\nencode_segment.sh: nothing.mkv has no video\n"), f"no input: {no_video.stderr}")
    beyond = run("! tools/encode_segment.sh in.mkv 100 8 frames j2c -c:v j2k_cuda -device cpu && [ ! -e frames/.segment-100-8 ]")
    expect(beyond.returncode == 0 and beyond.stderr == "encode_segment.sh: in.mkv has no frame 100\n", f"beyond the clip: {beyond.stderr}")
    short = run("tools/encode_segment.sh in.mkv 20 8 short j2c -c:v j2k_cuda -device cpu; ls short | wc -l; ls short/.segment-20-8")
    expect(short.stdout.split("\n")[0] == "4" and not short.returncode, f"the last segment: {short.stdout}{short.stderr}")
    other = run("! tools/encode_segment.sh in.mkv 0 8 frames j2c -c:v j2k_cuda -q:v 50 -format j2k; cp in.mkv other.mkv; ! tools/encode_segment.sh other.mkv 0 8 frames "
                "j2c -c:v j2k_cuda -q:v 90 -format j2k; ! tools/encode_segment.sh other.mkv 4 4 frames j2c -c:v j2k_cuda -q:v 90 -format j2k")
    expect(other.returncode == 0 and [line.split(": ")[1] for line in other.stderr.splitlines()] ==
           ["frames has this segment of another clip or of other options"] * 2 + ["frames has frames of another clip"], f"another job's folder: {other.stderr}")
    joined = run("for f in one_run joined; do ffmpeg -v error -i $f.mxf -c copy -f rawvideo - | md5sum; done | uniq | wc -l; "
                 "ffmpeg -v error -y -framerate 24 -i frames/%08d.j2c -c copy joined.mxf && "
                 "ffmpeg -v error -i one_run.mxf -i joined.mxf -lavfi identity -f null -")
    expect(joined.returncode == 0 and joined.stdout.strip() == "1", f"the joined file: {joined.stdout}{joined.stderr}")


def check_cut_clips():
    """A clip that ends before its container says is refused, whether FFmpeg tells of it or not; a container that does not say is named."""
    run("mkdir ends; for f in avi mkv mxf 'mov -movflags faststart'; do ffmpeg -v error -i in.mkv -c:v j2k_cuda -device cpu -format j2k -f ${f/mkv/matroska} ends/in.${f%% *}; done; "
        "ffmpeg -v error -i in.mkv -pix_fmt yuv420p -c:v h264_cavlc_cuda -device cpu ends/in.ts")
    for ending in "avi", "mkv", "mxf", "mov":
        for first in 0, 20:
            cut = run(f"head -c $(($(stat -c %s ends/in.{ending}) * 18 / 20)) ends/in.{ending} >ends/cut.{ending}; "
                      f"! tools/encode_segment.sh ends/cut.{ending} {first} 8 torn j2c -c:v j2k_cuda -device cpu && ls torn | wc -l")
            expect(cut.stdout == "0\n" and f"\nencode_segment.sh: ends/cut.{ending} is cut or broken: " in "\n" + cut.stderr, f"{ending}, {first}: {cut.stdout}{cut.stderr}")
    silent = run("tools/encode_segment.sh ends/in.ts 16 8 ts j2c -c:v j2k_cuda -device cpu; FRAMES=24 tools/encode_segment.sh ends/in.ts 16 9 ts j2c -c:v j2k_cuda -device cpu; "
                 "! FRAMES=25 tools/encode_segment.sh ends/in.ts 16 10 ts j2c -c:v j2k_cuda -device cpu; ls ts | wc -l")
    expect(silent.stdout == "8\n" and silent.stderr.splitlines() == [
        "encode_segment.sh: mpegts does not tell its length: FRAMES= says how many frames ends/in.ts has, here 24",
        "encode_segment.sh: ends/in.ts is cut or broken: it has 24 frames of 25"], f"{silent.stdout}{silent.stderr}")


def check_varying_rates():
    """Segments are the frames of one run where the frame rate varies, where the clip begins late, and where seeks fail."""
    run("mkdir rates; ffmpeg -v error -i in.mkv -c copy -bsf:v setts=pts=N*N*3+700:dts=N*N*3+700 rates/in.mkv; "
        "ffmpeg -v error -i in.mkv -pix_fmt yuv420p -c:v h264_cavlc_cuda -device cpu -bsf:v setts=pts=N*N*300+90000:dts=N*N*300+90000 rates/in.ts")
    for name in "in.mkv", "in.ts":
        found = run(f"for n in 0 8 16; do tools/encode_segment.sh rates/{name} $n 8 rates/{name}.d j2c -c:v j2k_cuda -device cpu -format j2k; done; mkdir rates/{name}.one; "
                    f"ffmpeg -v fatal -i rates/{name} -fps_mode passthrough -c:v j2k_cuda -device cpu -format j2k -bsf:v setts=pts=N:dts=N -start_number 0 rates/{name}.one/%08d.j2c; "
                    f"diff -r -x '.*' rates/{name}.d rates/{name}.one && ls rates/{name}.one | wc -l")
        expect(found.stdout == "24\n", f"{name}: {found.stdout}{found.stderr}")


def check_cinema_rates():
    """README's command makes a film of every frame, whatever the source's rate; dcp.md's other way keeps the time."""
    command = re.search(r"`(ffmpeg [^`]*cinema2k[^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    for rate, kept_time in ("24000/1001", 48), ("25", 46), ("30000/1001", 38):
        made = run(f"rm -rf film && mkdir film && cd film && ffmpeg -v error -f lavfi -i testsrc2=s=64x48:r={rate} -frames:v 48 -c:v ffv1 in.mov && "
                   f"{command.replace('-c:v j2k_cuda', '-c:v j2k_cuda -device cpu')} && ls *.j2c | wc -l && "
                   "ffmpeg -v error -i in.mov -vf fps=24 -c:v rawvideo -f framecrc - | grep -c ^0,")
        expect(made.stdout == f"48\n{kept_time}\n", f"a film from {rate} frames/s: {made.stdout}{made.stderr}")


make_inputs()
check_printed(run_page())
check_ladder()
check_psnr()
check_jp2_files()
check_to_jp2()
check_existing()
check_metadata()
check_odd_sources()
check_video()
check_interlaced()
check_decoding()
check_imf()
check_htj2k()
check_dicom()
check_thumbnails()
check_delivery()
check_segments()
check_cut_clips()
check_varying_rates()
check_cinema_rates()
finish()
