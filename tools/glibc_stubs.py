#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stubs of glibc's shared libraries, as an older glibc has them. What is linked with them runs on that one and on later ones.

    glibc_stubs.py 2.28 g++ FOLDER

A symbol has several versions in this machine's glibc, and a linker takes the newest. A stub has one version of each: the newest
that is not newer than asked for. What has only newer ones is missing, so that linking fails and names it. Behind the stubs
stands compat.o, which has what headers and libstdc++.a of a newer glibc want.
"""
import pathlib
import re
import subprocess
import sys

# glibc 2.34 took these into libc.so.6.
_MOVED = {"dl": "libdl.so.2", "pthread_": "libpthread.so.0", "sem_": "libpthread.so.0"}
_LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0")
# By processor: a compiler also finds the loader of a foreign glibc, which stands in the same /lib.
_LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}

# __libc_single_threaded (2.32) tells whether counters of references need atomic operations. fstat64 (2.33) was an inline function.
# Those of C23 (2.38) read 0b as well, which nobody here wants.
_COMPAT = """
struct stat64;
int __fxstat64(int version, int file, struct stat64 *status);
int fstat64(int file, struct stat64 *status)
{
#ifdef __x86_64__
    return __fxstat64(1, file, status);
#else
    return __fxstat64(0, file, status);
#endif
}
char __libc_single_threaded;
#define C23(type, name) \\
    type name(const char *, char **, int); \\
    type __isoc23_##name(const char *text, char **end, int base) { return name(text, end, base); }
C23(long, strtol)
C23(long long, strtoll)
C23(unsigned long, strtoul)
C23(unsigned long long, strtoull)
"""


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def ask(compiler: str, question: str) -> str:
    return subprocess.run([*compiler.split(), question], check=True, capture_output=True, text=True).stdout.strip()


def symbols(library: str, newest: tuple[int, ...]) -> dict[str, tuple[str, bool]]:
    """The version of each symbol, and whether it is a function."""
    chosen: dict[str, tuple[str, bool]] = {}
    listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True, capture_output=True, text=True)
    for kind, name, version in re.findall(r"^[0-9a-f]+ (\w) (\w+)@@?GLIBC_([0-9.]+)$", listed.stdout, flags=re.M):
        if number(version) <= newest and (name not in chosen or number(chosen[name][0]) < number(version)):
            chosen[name] = version, kind in "TWi"
    return chosen


def build(compiler: str, folder: pathlib.Path, soname: str, contents: dict[str, tuple[str, bool]]) -> None:
    sources = folder / "sources"
    sources.mkdir(exist_ok=True)
    source, script = sources / f"{soname}.s", sources / f"{soname}.map"
    lines, versions = [".text"], {}
    for name, (version, function) in sorted(contents.items()):
        lines.append(f".globl {name}\n.type {name},{'%function' if function else '%object'}\n.size {name},8\n{name}: .space 8")
        versions.setdefault(version, []).append(name)
    source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""]), encoding="utf-8")
    script.write_text("".join(f"GLIBC_{version} {{ {'; '.join(names)}; }};\n" for version, names in sorted(versions.items())), encoding="utf-8")
    # -lc and so on find it by the name without a version.
    output = folder / (soname if soname.startswith("ld-") else soname[:soname.index(".so")] + ".so")
    subprocess.run([*compiler.split(), "-shared", "-nostdlib", "-o", str(output), str(source), f"-Wl,-soname,{soname},--version-script={script}"], check=True)


def main() -> None:
    newest, compiler, folder = number(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    contents: dict[str, dict[str, tuple[str, bool]]] = {}
    processor = ask(compiler, "-dumpmachine").partition("-")[0]
    if processor not in _LOADERS:
        raise SystemExit(f"{compiler} compiles for {processor}; allowed: {', '.join(_LOADERS)}")
    for soname in (*_LIBRARIES, _LOADERS[processor]):
        found = ask(compiler, f"-print-file-name={soname}")
        if "/" not in found:
            continue
        for name, chosen in symbols(found, newest).items():
            moved = [to for prefix, to in _MOVED.items() if name.startswith(prefix)] if soname == "libc.so.6" else []
            contents.setdefault(moved[0] if moved else soname, {})[name] = chosen
    if "libc.so.6" not in contents:
        raise SystemExit(f"{compiler} has no glibc of {sys.argv[1]} or later")
    for soname, of_library in contents.items():
        build(compiler, folder, soname, of_library)
    compat = folder / "sources" / "compat.c"
    compat.write_text(_COMPAT, encoding="utf-8")
    subprocess.run([*compiler.split(), "-x", "c", "-O2", "-fPIC", "-fno-builtin", "-c", str(compat), "-o", str(folder / "compat.o")], check=True)


if __name__ == "__main__":
    main()
