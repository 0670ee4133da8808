#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The codecs' texinfo, patches/doc/*.texi, as a man page: man_page.py VERSION >ffmpeg-cudaenc.1"""
import pathlib
import re
import sys

TEXTS = pathlib.Path(__file__).resolve().parent.parent / "patches" / "doc"
HEAD = r""".TH FFMPEG\-CUDAENC 1 "" "cudaenc {version}" "User Commands"
.SH NAME
ffmpeg\-cudaenc, ffprobe\-cudaenc \- FFmpeg with JPEG 2000, JPEG and H.264 on NVIDIA GPUs
.SH SYNOPSIS
.B ffmpeg\-cudaenc
[\fIoptions\fR] \fB\-i\fR \fIinput\fR \fB\-c:v\fR \fIcodec\fR [\fIoptions of the codec\fR] \fIoutput\fR
.PP
.B ffprobe\-cudaenc
[\fIoptions\fR] \fIinput\fR
.SH DESCRIPTION
These are the programs of FFmpeg, with more codecs: the encoders j2k_cuda, mjpeg_cuda and h264_cavlc_cuda, and the decoders
j2k_cuda and mjpeg_cuda. They run on CUDA devices, and on the CPU where there is none. All else is as in
.BR ffmpeg (1)
and
.BR ffprobe (1).
"""
_INLINE = {"var": r"\\fI\1\\fR", "option": r"\\fB\1\\fR", "code": r"\\fB\1\\fR", "samp": r"\\fB\1\\fR"}


def roff(texinfo: str, kind: str) -> list[str]:
    texinfo = texinfo.replace("\\", "\\e").replace("-", "\\-")
    for command, replacement in _INLINE.items():  # also across lines
        texinfo = re.sub(rf"@{command}\{{([^}}]*)\}}", replacement, texinfo)
    lines: list[str] = []
    tables: list[str] = []  # open ones, by the command of their items
    paragraph = example = False
    for line in texinfo.splitlines():
        command, _, rest = line[1:].partition(" ") if line.startswith("@") else ("", "", line)
        if command == "section":
            lines.append(f".SH {kind.upper()} {rest.upper()}")
        elif command == "subsection":
            lines.append(f".SS {rest}")
        elif command == "table":
            lines += [".RS"] if tables else []
            tables.append(rest)
        elif command in ("item", "itemx"):
            lines += [".TP" if command == "item" else ".TQ", rf"\fB{rest}\fR"]
        elif command == "example":
            lines += [".PP", ".nf"]
            example = True
        elif (command, rest) == ("end", "example"):
            lines.append(".fi")
            example = False
        elif (command, rest) == ("end", "table"):
            tables.pop()
            lines += [".RE"] if tables else []
        elif re.search(r"@\w*", line):
            raise SystemExit(f"unknown texinfo: {line}")
        elif rest or example:
            lines += ([".IP" if tables else ".PP"] if paragraph else []) + [("\\&" if rest.startswith((".", "'")) else "") + rest]
        paragraph = not line and not example
    return lines


def main() -> None:
    lines = [HEAD.format(version=sys.argv[1]).rstrip()]
    for kind in "encoder", "decoder":
        lines += roff((TEXTS / f"{kind}s.texi").read_text(encoding="utf-8"), kind)
    print("\n".join([*lines, ".SH SEE ALSO", ".BR ffmpeg (1),", ".BR ffprobe (1)"]))


if __name__ == "__main__":
    main()
