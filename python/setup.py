# SPDX-License-Identifier: LGPL-2.1-or-later
"""Puts the declarations of cudaenc.h and the shared library into the package.

CUDAENC_LIBRARY names the library, also when a program runs. Without it that of `make lib` is taken; where there is none, the package opens the
system's libcudaenc.so.0.
"""
import os
import pathlib
import re
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent
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


def version(header: str) -> str:
    return ".".join(re.findall(r"#define CUDAENC_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


class Build(build_py):
    def run(self) -> None:
        super().run()
        package = pathlib.Path(self.build_lib, "cudaenc")
        package.mkdir(parents=True, exist_ok=True)
        (package / "cudaenc.cdef").write_text(declarations(HEADER.read_text(encoding="utf-8")), encoding="utf-8")
        if LIBRARY.is_file():
            shutil.copyfile(LIBRARY, package / "libcudaenc.so.0")
        elif os.environ.get("CUDAENC_LIBRARY"):
            raise SystemExit(f"CUDAENC_LIBRARY={LIBRARY} is no file")


class Platform(Distribution):
    def has_ext_modules(self) -> bool:  # the wheel is for one platform, and for every Python 3
        return LIBRARY.is_file()


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
      cmdclass={"build_py": Build, "bdist_wheel": any_python()})
