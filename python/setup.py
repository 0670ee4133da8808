# SPDX-License-Identifier: LGPL-2.1-or-later
"""Puts the declarations of cudaenc.h and the shared library into the package.

CUDAENC_LIBRARY names the library, also when a program runs. Without it that of `make lib` is taken. A source archive has the
library's sources, and makes it. Else the package opens the system's libcudaenc.so.0.
"""
import os
import pathlib
import re
import shutil
import subprocess

import cffi
from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
ARCHIVED = HERE / "source"  # of the library, in a source archive
SOURCES = ("Makefile", "LICENSE", "common", "cuda_kernels", "make", "patches", "tools/glibc_stubs.py")
ROOT = ARCHIVED if ARCHIVED.is_dir() else HERE.parent
HEADER = ROOT / "common" / "cudaenc.h"
LIBRARY = pathlib.Path(os.environ.get("CUDAENC_LIBRARY") or ROOT / "build" / "shared" / "libcudaenc.so.0")


def declarations(header: str) -> str:
    """What cffi reads of a C header: no comments, directives, macros and inline functions."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    constants = dict(re.findall(r"^#define (\w+) (\d+)$", text, flags=re.M))
    text = re.sub(r'^#ifdef __cplusplus\nextern "C" \{\n#endif|^#ifdef __cplusplus\n\}\n#endif', "", text, flags=re.M)
    text = re.sub(r"^#.*(?:\\\n.*)*\n", "", text, flags=re.M)
    text = re.sub(r"^static inline [^{]*\{.*?\}\n", "", text, flags=re.S | re.M)
    text = re.sub(r" CUDAENC_SIZE_OF\(\w+\)", "", text)
    for name, value in constants.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


_TYPES = {"int": "int", "int64_t": "int", "double": "float", "const char *": "str", "const uint16_t *": "Sequence[int]"}
_CALLED = {"format": "file_format"}  # the package calls these otherwise


def _enums(header: str) -> dict[str, dict[str, int]]:
    """Names of enumerators, without what they begin with, and their values."""
    enums = {}
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", header, flags=re.S):
        value, values = -1, {}
        for enumerator, number in re.findall(r"(CUDAENC_\w+)(?: = (-?\d+))?,?", re.sub(r"/\*.*?\*/", "", body, flags=re.S)):
            value = int(number) if number else value + 1
            values[enumerator] = value
        common = os.path.commonprefix(list(values)).rpartition("_")[0] + "_"
        enums[name] = {enumerator[len(common):].lower(): value for enumerator, value in values.items()}
    return enums


def options(header: str) -> str:
    """The options of codecs as a module: a TypedDict each, and the names of values."""
    enums = _enums(header)
    lines = ["# SPDX-License-Identifier: LGPL-2.1-or-later", '"""Options of codecs; made of cudaenc.h."""',
             "from __future__ import annotations", "", "from typing import Literal, Optional, Sequence, TypedDict, Union"]
    names: dict[str, dict[str, dict[str, int]]] = {}
    for codec in "J2k", "Mjpeg", "H264":
        body = re.search(rf"typedef struct Cudaenc{codec}Options \{{(.*?)\}} Cudaenc{codec}Options;", header, flags=re.S)[1]
        lines += ["", "", f"class {codec}Options(TypedDict, total=False):", f'    """Of codec={codec.lower()!r}; None: not set."""', ""]
        for kind, members, comment in re.findall(r"^    (int64_t|int|double|const \w+ \*) ?([\w, ]+);(?:\s*/\*\*< (.*?)\*/)?", body, flags=re.S | re.M):
            for member in members.split(", "):
                member = _CALLED.get(member, member)
                python = _TYPES[kind]
                enum = enums.get((re.findall(r"Cudaenc\w+", comment) or [""])[0])
                if enum:
                    enum = {**enum, "j2k": enum["codestream"]} if "codestream" in enum else enum  # as FFmpeg has it
                    names.setdefault(codec.lower(), {})[member] = enum
                    several = "sum of" in re.sub(r"\s+", " ", comment)
                    python = "Union[int, str]" if several else f"Union[int, Literal[{', '.join(map(repr, enum))}]]"
                if comment:
                    lines.append(f"    # {' '.join(comment.split())}")
                lines.append(f"    {member}: Optional[{python}]")
    lines += ["", "", f"NAMES: dict[str, dict[str, dict[str, int]]] = {names!r}", ""]
    return "\n".join(lines)


def version(header: str) -> str:
    return ".".join(re.findall(r"#define CUDAENC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


class Build(build_py):
    def run(self) -> None:
        super().run()
        package = HERE / "cudaenc" if self.editable_mode else pathlib.Path(self.build_lib, "cudaenc")
        package.mkdir(parents=True, exist_ok=True)
        header = HEADER.read_text(encoding="utf-8")
        ffi = cffi.FFI()  # as a module, since to read declarations takes a tenth of a second
        ffi.cdef(declarations(header))
        ffi.set_source("cudaenc._declarations", None)
        made = package / "_declarations.py"
        ffi.emit_python_code(str(made))
        made.write_text("# SPDX-License-Identifier: LGPL-2.1-or-later\n" + made.read_text(encoding="utf-8"), encoding="utf-8")
        (package / "_options.py").write_text(options(header), encoding="utf-8")
        (package / "cudaenc.h").write_text(header, encoding="utf-8")
        if not LIBRARY.is_file() and ROOT == ARCHIVED:
            jobs = os.environ.get("MAX_JOBS") or str(os.cpu_count())
            subprocess.run(["make", f"-j{jobs}", "build/shared/libcudaenc.so"], cwd=ROOT, check=True)
        if LIBRARY.is_file():
            shutil.copyfile(LIBRARY, package / "libcudaenc.so.0")
        elif os.environ.get("CUDAENC_LIBRARY"):
            raise SystemExit(f"CUDAENC_LIBRARY={LIBRARY} is no file")


class Archive(sdist):
    """With the sources of the library, and NVIDIA's headers where they were fetched: it is then built offline."""

    def make_release_tree(self, base_dir, files) -> None:
        super().make_release_tree(base_dir, files)
        for source in [ROOT / name for name in SOURCES] + sorted(ROOT.glob("build/cache/nv-codec-headers-*")):
            target = pathlib.Path(base_dir, "source", source.relative_to(ROOT))
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)


class Platform(Distribution):
    def has_ext_modules(self) -> bool:  # the wheel is for one platform, and for every Python 3
        return LIBRARY.is_file() or ROOT == ARCHIVED


def any_python():
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:
        from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        def get_tag(self):
            return ("py3", "none", super().get_tag()[2])

    return Wheel


MADE = ROOT / "build" / "python"
MADE.mkdir(parents=True, exist_ok=True)
setup(version=version(HEADER.read_text(encoding="utf-8")), distclass=Platform,
      options={"build": {"build_base": str(MADE / "build")}, "egg_info": {"egg_base": str(MADE)}},
      cmdclass={"build_py": Build, "sdist": Archive, "bdist_wheel": any_python()})
