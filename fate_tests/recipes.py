#!/usr/bin/env python3
"""Executes the commands of docs/recipes.md, each block by bash in one folder, and looks at what they left.

Usage: recipes.py FFMPEG_BUILD    Ends in a line "N passed, N failed". SPDX-License-Identifier: LGPL-2.1-or-later
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
    inputs = [("320x180", "yuv422p10le", "-frames:v 24 -c:v ffv1 in.mkv"), ("200x100", "rgb24", "-frames:v 1 scans/a.png"),
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
    for line in ("lossless", "gray10: lossless", "yuva12: lossless", "xyz12: lossless", "yuv444: lossless", "the same",
                 "5 files in 5 groups of one size and format, 0 failed", "no picture is broken"):
        expect(line in printed.splitlines(), f"nothing printed '{line}'")
    expect(len(re.findall(r"^\| in \| \d+ \| [\d.]+ \| [\d.]+ \| 0\.\d+ \| [\d.]* \|$", printed, re.M)) == 5, "the ladder's rows")


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
    expect("0 files in 0 groups" in again.stdout, f"files that exist are kept: {again.stdout}")
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
    bare = run("tools/to_jp2.py bare scans/a.png -- -format j2k || ls -A bare")
    expect(bare.stdout == "" and bare.stderr == "to_jp2.py: these options make no JP2 files: -format j2k\n", f"codestreams: {bare.stdout}{bare.stderr}")
    nowhere = run("tools/to_jp2.py scans/a.png/jp2 scans/a.png")
    expect(nowhere.stderr == "to_jp2.py: scans/a.png/jp2: Not a directory\n", f"a folder that cannot be: {nowhere.stderr}")


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
    for own, coded in ("rgb565le", "rgb24"), ("bgr8", "rgb24"), ("rgb48be", "rgb48be"), ("monow", "gray"), ("gbrpf32le", None), ("grayf16le", None):
        found = to_jp2.coded_format("ffmpeg", "", own)
        expect(found == coded, f"{own} becomes {found}")


def check_video():
    for name in "master.mxf", "master.mov", "mezzanine.mxf":
        codec = run(f"ffprobe -v error -count_packets -show_entries stream=codec_name,nb_read_packets -of csv=p=0 {name}").stdout
        expect(codec.strip().strip(",") == "jpeg2000,24", f"{name}: {codec}")
    expect(run("ffprobe -v error -count_packets -show_entries stream=codec_name,nb_read_packets -of csv=p=0 camera.mxf").stdout.strip().strip(",")
           == "jpeg2000,24", "camera.mxf")


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
    cut = run("head -c $(($(stat -c %s in.mkv) * 19 / 20)) in.mkv >cut.mkv; ! tools/encode_segment.sh cut.mkv 20 8 torn j2c -c:v j2k_cuda -device cpu "
              "&& [ ! -e torn/.segment-20-8 ] && ls torn | wc -l")
    expect(cut.stdout == "0\n" and re.search(r"\nencode_segment.sh: cut.mkv is cut or broken: [1-3] of 8 frames from 20 on\n$", cut.stderr),
           f"a clip that is cut: {cut.stdout}{cut.stderr}")
    joined = run("for f in one_run joined; do ffmpeg -v error -i $f.mxf -c copy -f rawvideo - | md5sum; done | uniq | wc -l; "
                 "ffmpeg -v error -y -framerate 24 -i frames/%08d.j2c -c copy joined.mxf && "
                 "ffmpeg -v error -i one_run.mxf -i joined.mxf -lavfi identity -f null -")
    expect(joined.returncode == 0 and joined.stdout.strip() == "1", f"the joined file: {joined.stdout}{joined.stderr}")


make_inputs()
check_printed(run_page())
check_psnr()
check_jp2_files()
check_to_jp2()
check_odd_sources()
check_video()
check_imf()
check_htj2k()
check_dicom()
check_thumbnails()
check_segments()
finish()
