#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tools that keep the house find what they look for, in trees made for it."""
import contextlib
import io
import pathlib
import shutil
import tempfile
import unittest

import house
import include_graph

TREE = {
    "common/cudaenc.h": "",
    "common/error.h": '#include "cudaenc.h"',
    "common/j2k/codestream/tables.h": '#include "../../error.h"',
    "common/j2k/t1/block.h": '#include "../codestream/tables.h"',
    "common/j2k/rate/hull.h": '#include "../t1/block.h"\n#include "../codestream/tables.h"',
    "common/j2k/j2k_cpu.cpp": '#include "rate/hull.h"\n#include "t1/block.h"',
    "cuda_kernels/device.cuh": '#include "../fate_tests/emu/emu.h"',
    "fate_tests/emu/emu.h": "",
    "libavcodec_ext/glue.c": '#include <cudaenc.h>\n#include "avcodec.h"',
    "docs/architecture.md": "",
    "docs/adding-a-stage.md": "",
}


class House(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        for file, text in TREE.items():
            self.write(file, text)

    def write(self, file, text):
        path = pathlib.Path(self.root, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        tag = "// " + house.TAG + "\n" if path.suffix in house.SOURCES else ""
        path.write_text(tag + text + "\n", encoding="utf-8")

    def run_tool(self, main, *arguments):
        """What it prints; self.status is what it returns."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.status = main(self.root, *arguments)
        return out.getvalue()


class IncludeGraph(House):
    def setUp(self):
        super().setUp()
        rooms = {"common/cudaenc.h": set(), "common": {"common/cudaenc.h"}, "common/j2k/codestream": {"common"},
                 "common/j2k/t1": {"common/j2k/codestream"}, "common/j2k/rate": {"common/j2k/t1"},
                 "common/j2k/j2k_cpu.cpp": {"common/j2k/rate"}, "cuda_kernels": set(), "libavcodec_ext": {"common/cudaenc.h"}}
        self.write(include_graph.DRAWING, include_graph.comment_of(include_graph.drawing(rooms)))

    def expect(self, fault):
        self.assertIn(fault, self.run_tool(include_graph.main, False))
        self.assertEqual(self.status, 1)

    def test_a_tree_that_keeps_the_rules(self):
        self.assertIn("8 files in 8 rooms", self.run_tool(include_graph.main, False))
        self.assertEqual(self.status, 0)

    def test_an_arrow_upwards(self):
        self.write("common/j2k/t1/block.h", '#include "../rate/hull.h"')
        self.expect("block.h:2: includes ../rate/hull.h, but common/j2k/t1 does not stand on common/j2k/rate")
        self.expect("a circle of rooms: common/j2k/rate -> common/j2k/t1 -> common/j2k/rate")

    def test_a_circle_of_files(self):
        self.write("common/hd.h", '#include "error.h"')
        self.write("common/error.h", '#include "hd.h"')
        self.expect("a circle of files: common/error.h -> common/hd.h -> common/error.h")

    def test_what_the_glue_may_not_know(self):
        self.write("libavcodec_ext/glue.c", "#include <error.h>")
        self.expect("libavcodec_ext does not stand on common")

    def test_the_emulator_in_other_kernels(self):
        self.write("cuda_kernels/bits.cuh", '#include "../fate_tests/emu/emu.h"')
        self.expect("cuda_kernels does not stand on fate_tests/emu")

    def test_a_cuda_header_in_common(self):
        self.write("common/error.h", '#include "cudaenc.h"\n# include <cuda.h>')
        self.expect("common/error.h:3: cuda.h is for cuda_kernels only")

    def test_a_room_without_a_rule(self):
        self.write("common/j2k/ht/mel.h", "")
        self.expect("no rule for common/j2k/ht")

    def test_an_old_drawing(self):
        self.write("common/j2k/t2/layers.h", '#include "../t1/block.h"')
        self.expect("docs/include-graph.svg is out of date")


class Lengths(House):
    def expect(self, *faults):
        said = self.run_tool(house.main)
        for fault in faults:
            self.assertIn(fault, said)
        self.assertIn(f"{len(faults)} failed", said)
        self.assertEqual(self.status, 1 if faults else 0)

    def function(self, lines, head="int f(int x) {"):
        return head + "\n    if (x) { g('{', \"}\"); }  // }" * (lines - 2) + "\n}\n"

    def test_functions(self):
        self.write("common/short.cpp", "namespace a {\n" + self.function(120) + self.function(120) + "}")
        self.expect()
        self.write("cuda_kernels/long.cu", "template <class T>\n" + self.function(120, "KERNEL(32, k, Params) {"))
        self.write("libavcodec_ext/long.c", "static int *a[] = {\n" + "    0,\n" * 200 + "};\n" +
                   '#include "x.h"\n' * 9 + self.function(121))
        self.write("common/long.h", "struct A : B {\n" + "    int x;\n" * 200 +
                   self.function(121, "void f() const override {") + "};")
        self.write("fate_tests/check/long.cpp", self.function(121, "START_TEST(f) {"))
        self.expect("cuda_kernels/long.cu:2: 121 lines", "libavcodec_ext/long.c:213: 121 lines",
                    "common/long.h:203: 121 lines", "fate_tests/check/long.cpp:2: 121 lines")

    def test_tags(self):
        def overwrite(file, text):
            self.write(file, "")
            pathlib.Path(self.root, file).write_text(text, encoding="utf-8")
        overwrite("tools/a.py", f"#!/usr/bin/env python3\n# {house.TAG}\n")
        overwrite("examples/a.c", f"/* {house.TAG} */\n")
        overwrite("make/a.mk", f"# {house.TAG}\n")
        self.expect()
        overwrite("common/late.h", f"// A stage. {house.TAG}\n")
        overwrite("tools/b.sh", f"#!/bin/sh\n# A tool.\n# {house.TAG}\n")
        overwrite("make/none.mk", "a: b\n")
        self.expect("common/late.h:1: is not the SPDX tag alone", "tools/b.sh:2: is not the SPDX tag alone",
                    "make/none.mk:1: is not the SPDX tag alone")

    def test_sentences(self):
        words = ("word " * 40).strip()
        self.write("README.md", f"# Title {words}\n\nShort. {words.capitalize()}.\n{words.capitalize()}.\n\n"
                                f"    code {words}\n\n| {words} | x |\n")
        self.expect()
        self.write("docs/j2k.md", f"* **Item.** It has\n  {words}: {words}.\n* Short.\n")
        self.write("docs/experiments/one.md", f"Not so\nshort\n{words}\n")
        self.expect("docs/j2k.md:1: 82 words", "docs/experiments/one.md:1: 43 words")

    def test_links(self):
        self.write("docs/j2k.md", "# Tier-1, by `warps`\n[self](#tier-1-by-warps) [up](../README.md) [out](https://a.b/c#d)\n")
        self.write("README.md", "[page](docs/j2k.md#tier-1-by-warps) [folder](docs)\n")
        self.expect()
        self.write("README.md", "[page](docs/j2c.md) [heading](docs/j2k.md#tier-2)\n")
        self.expect("README.md: docs/j2c.md leads nowhere", "README.md: docs/j2k.md#tier-2 leads nowhere")

    def table(self, *files):
        self.write("docs/adding-a-stage.md", "\n".join([house.CODER_TABLE, "|---|---|", *(f"| `{f}` | x |" for f in files)]))

    def test_a_block_coder_by_name(self):
        self.write("common/j2k/t1/block.h", "constexpr uint32_t kHt = 64;")
        self.write("common/j2k/t1/ht_cpu.h", "void code_ht_blocks();")
        self.write("common/cudaenc.h", "int height, step; // of a right-hand x")
        self.table("common/j2k/t1/block.h")
        self.expect()
        self.write("common/j2k/j2k_cpu.cpp", '#include "t1/ht_cpu.h"')
        self.expect("common/j2k/j2k_cpu.cpp: names the HT coder")
        self.table("common/j2k/t1/block.h", "common/j2k/j2k_cpu.cpp", "common/error.h")
        self.expect("common/error.h: does not name the HT coder")

    def test_a_block_coder_in_many_files(self):
        files = [f"common/j2k/{i}.cpp" for i in range(house.MOST_CODER_FILES + 1)]
        for file in files:
            self.write(file, "if (style & kHt) return;")
        self.table(*files)
        self.expect("docs/adding-a-stage.md: 10 files for a block coder, at most 9")


if __name__ == "__main__":
    unittest.main()
