#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who includes whom. Checks it against RULES, or draws docs/include-graph.svg (by Graphviz).

Usage: include_graph.py [--draw] [ROOT]
Fails on an include that RULES does not allow, on a circle of files or of rooms, and on a drawing that is out of date.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

# A room is a folder without those below it, or one file. Beside it: the rooms that it stands on. It may include these, and
# all that they stand on. A room that does not exist yet may have its rule already.
RULES = {
    "common/cudaenc.h": [],
    "common": ["common/cudaenc.h"],
    "common/j2k/codestream": ["common"],
    "common/j2k/transform": ["common/j2k/codestream"],
    "common/j2k/t1": ["common/j2k/codestream"],
    "common/j2k/t2": ["common/j2k/t1"],
    "common/j2k": ["common/j2k/transform", "common/j2k/t1"],
    "common/j2k/rate": ["common/j2k", "common/j2k/t2"],
    "common/j2k/rate/research": ["common/j2k/rate"],
    "common/j2k/j2k_cpu.cpp": ["common/j2k/rate/research"],
    "common/j2k/picture_decoder_cpu.cpp": ["common/j2k", "common/j2k/t2"],
    "common/j2k/recode.cpp": ["common/j2k", "common/j2k/rate", "common/j2k/t2"],
    "common/mjpeg": ["common"],
    "common/h264/qp.h": [],
    "common/h264/syntax": ["common", "common/h264/qp.h"],
    "common/h264/intra": ["common/h264/syntax"],
    "common/h264/lanes": ["common/h264/intra"],
    "common/h264/inter": ["common/h264/lanes"],
    "common/h264/rate": ["common", "common/h264/qp.h"],
    "common/h264": ["common/h264/inter", "common/h264/rate"],
    "common/codecs.cpp": ["common/j2k", "common/mjpeg", "common/h264"],
    "common/cavlc_session.cpp": ["common/h264"],
    "common/recode.cpp": ["common/j2k"],
    "cuda_kernels": ["common"],
    "cuda_kernels/j2k/transform": ["cuda_kernels", "common/j2k/transform"],
    "cuda_kernels/j2k/t1": ["cuda_kernels", "common/j2k/t1"],
    "cuda_kernels/j2k/t2": ["cuda_kernels/j2k/t1", "common/j2k/t2"],
    "cuda_kernels/j2k/rate": ["cuda_kernels/j2k/t2", "common/j2k/rate"],
    "cuda_kernels/j2k/rate/research": ["cuda_kernels/j2k/rate", "common/j2k/rate/research"],
    "cuda_kernels/j2k": ["cuda_kernels/j2k/transform", "cuda_kernels/j2k/rate/research"],
    "cuda_kernels/j2k/j2k_decoder_cuda.cpp": ["cuda_kernels/j2k/transform", "cuda_kernels/j2k/t2", "common/j2k"],
    "cuda_kernels/mjpeg": ["cuda_kernels", "common/mjpeg"],
    "cuda_kernels/h264/intra": ["cuda_kernels", "common/h264"],
    "cuda_kernels/h264/inter": ["cuda_kernels/h264/intra"],
    "cuda_kernels/h264": ["cuda_kernels/h264/inter"],
    "libavcodec_ext": ["common/cudaenc.h"],
}
# device.cuh is made three ways, and names the emulator's.
EXCEPTIONS = {("cuda_kernels/device.cuh", "fate_tests/emu/emu.h")}
# Headers of others that only one top-level folder may include.
FOREIGN = [(re.compile(r"cuda(_runtime(_api)?)?\.h$|ffnvcodec/"), "cuda_kernels/")]

TOPS = {"common": "#dbe9f6", "cuda_kernels": "#dff0d8", "libavcodec_ext": "#f6ead2"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)')
DRAWING = "docs/include-graph.svg"


def read_includes(root):
    """{file: [(line, what the directive names, the file of ours that it finds, or None)]}"""
    def find(file, quote, name):  # as the compiler looks
        places = [os.path.dirname(file)] * (quote == '"') + ["common", "cuda_kernels"]
        paths = [os.path.normpath(os.path.join(place, name)) for place in places]
        return next((path for path in paths if os.path.isfile(os.path.join(root, path))), None)

    found = {}
    for folder, _, names in (entry for top in TOPS for entry in os.walk(os.path.join(root, top))):
        for path in (os.path.join(folder, n) for n in names if n.endswith((".h", ".c", ".cpp", ".cu", ".cuh"))):
            file = os.path.relpath(path, root)
            lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
            found[file] = [(number, match[2], find(file, match[1], match[2]))
                           for number, match in enumerate(map(INCLUDE.match, lines), 1) if match]
    return dict(sorted(found.items()))


def room_of(file):
    return file if file in RULES else os.path.dirname(file)


def below(graph, start):
    """All nodes that a node reaches."""
    seen, todo = set(), list(graph.get(start, ()))
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += graph.get(node, ())
    return seen


def circle(graph):
    """A shortest way from a node back to it, or None."""
    for start in (node for node in sorted(graph) if node in below(graph, node)):
        ways, seen = [[start]], set()
        for way in ways:
            for node in sorted(set(graph.get(way[-1], ())) - seen):
                if node == start:
                    return way + [start]
                seen.add(node)
                ways.append(way + [node])


def drawing(graph):
    """DOT. An arrow that a way over other rooms implies is left out."""
    dot = ["digraph includes {", "  rankdir=TB; nodesep=0.3; ranksep=0.35;",
           '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, height=0.3];',
           "  edge [color=gray35, arrowsize=0.6];"]
    dot += [f'  "{room}" [fillcolor="{TOPS[room.split("/")[0]]}"];' for room in sorted(graph)]
    for room in sorted(graph):
        implied = set().union(*(below(graph, other) for other in graph[room] if other != room))
        dot += [f'  "{room}" -> "{other}";' for other in sorted(graph[room] - implied)]
    return "\n".join(dot + ["}"])


def comment_of(dot):
    return f"<!-- made by fate_tests/include_graph.py of\n{dot}\n-->\n"


def main(root, draw):
    includes, of_files, of_rooms, wrong = read_includes(root), {}, {}, []
    for file in includes:
        room = room_of(file)
        of_rooms.setdefault(room, set())
        if room not in RULES:
            wrong.append(f"{file}: no rule for {room} in fate_tests/include_graph.py")
        for line, name, target in includes[file]:
            if any(pattern.match(name) and not file.startswith(owner) for pattern, owner in FOREIGN):
                wrong.append(f"{file}:{line}: {name} is for cuda_kernels only")
            if target and (file, target) not in EXCEPTIONS:
                of_files.setdefault(file, set()).add(target)
                if (other := room_of(target)) != room:
                    of_rooms[room].add(other)
                    if other not in below(RULES, room):
                        wrong.append(f"{file}:{line}: includes {name}, but {room} does not stand on {other}")
    for what, graph in ("rules", RULES), ("files", of_files), ("rooms", of_rooms):
        if way := circle(graph):
            wrong.append(f"a circle of {what}: {' -> '.join(way)}")
    if not wrong:
        dot, svg = drawing(of_rooms), pathlib.Path(root, DRAWING)
        if draw:
            shutil.which("dot") or sys.exit("include_graph.py: no dot here; Graphviz has it")
            drawn = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True, check=True).stdout
            svg.write_text(drawn.replace("<svg", comment_of(dot) + "<svg", 1), encoding="utf-8")
        elif not svg.is_file() or comment_of(dot) not in svg.read_text(encoding="utf-8"):
            wrong.append(f"{DRAWING} is out of date; 'make include-graph' draws it")
    print("\n".join(wrong) or f"{len(includes)} files in {len(of_rooms)} rooms include downwards only")
    return 1 if wrong else 0


if __name__ == "__main__":
    folders = [a for a in sys.argv[1:] if a != "--draw"] or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
    sys.exit(main(folders[0], "--draw" in sys.argv))
