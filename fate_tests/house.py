#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules that keep the house readable: an SPDX tag as a file's own first line, functions of at most 120 lines, sentences of at most 40 words, links that lead
somewhere, and a seam for block coders: what names the HT coder outside its own files is in the table of
docs/adding-a-stage.md, at most nine files.

Usage: house.py [ROOT]   Ends in "N passed, N failed".
Functions are those of product, tests and examples, lambdas within them counted. Sentences and links are those of *.md here
and below docs and python, sentences without code, headings and tables.
"""
import os
import pathlib
import re
import sys

LONGEST_FUNCTION = 120  # lines
LONGEST_SENTENCE = 40  # words
PRODUCT, OTHERS = ("common", "cuda_kernels", "libavcodec_ext"), ("fate_tests", "examples")
# Fragments and headers of earlier versions are as they were.
TAG, UNTAGGED = "SPDX-License-Identifier: LGPL-2.1-or-later", ("patches/extras", "fate_tests/library/headers", "fate_tests/ref")
SOURCES = (".h", ".c", ".cpp", ".cu", ".cuh")
ROOMS = PRODUCT + OTHERS + (".ci", "make", "patches", "python", "tools", "docs/examples")
MOST_CODER_FILES = 9  # that name a block coder, beside its own
CODER = re.compile(r"\b(?:kHt\w*|\w*J2K_HT|HtCoder|code_ht_blocks)\b|\bht\b(?=[ |\"])|\bht_\w+\.h\b")
CODER_TABLE, CODER_ROW = "| file | what it has for the coder |", re.compile(r"\| `([^`]+)` \|")

# Comments, strings and characters, which may hold braces; newlines stay.
QUOTED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
# What stands before a brace that opens no function: a scope of declarations, or an initialiser.
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^();]*$|=\s*$")


def blank(match):
    return "\n" * match[0].count("\n")


def functions(text):
    """[(head, its first line, lines up to the closing brace)] of the outermost functions."""
    found, scopes, head, line, first = [], [], "", 1, 1  # scopes: what each open brace began, None but for functions
    for part in re.split(r"([{};\n])", DIRECTIVE.sub(blank, QUOTED.sub(blank, text))):
        if part == "\n":
            line += 1
            head += " "
        elif part == "{":
            is_function = not any(scopes) and ")" in head and not SCOPE.search(head)
            scopes.append((" ".join(head.split()), first) if is_function else None)
            head = ""
        elif part == "}":
            if scopes and (function := scopes.pop()):
                found.append((*function, line - function[1] + 1))
            head = ""
        elif part == ";":
            head = ""
        else:
            if not head.strip():
                first = line
            head += part
    return found


def sentences(text):
    """[(line, sentence)] of Markdown's running text."""
    found, paragraph, first, code = [], "", 0, False

    def close():
        nonlocal paragraph
        for sentence in re.split(r"(?<=[.!?])[*_)\"]*\s+(?=[*_(\"`]*[A-Z0-9`])", paragraph):
            found.append((first, sentence))
        paragraph = ""

    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            code = not code
        indented = line.startswith("    ") and not paragraph  # not the second line of an item
        block = code or indented or " | " in line or line.startswith(("|", "#", "```"))
        item = re.match(r"\s*([*+-]|\d+\.)\s+", line)
        if block or item or not line.strip():
            close()
        if not block and line.strip():
            if not paragraph:
                first = number
            paragraph += line[item.end():] + " " if item else line.strip() + " "
    return found


def anchor(heading):
    """What a heading is linked by, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip("# ").lower()).replace(" ", "-")


def links(path, text):
    """[(link within the repository, whether it leads to a file and, if it names one, to a heading)]"""
    found = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, heading = link.partition("#")
        target = path.parent / name if name else path
        found.append((link, target.exists() and (not heading or heading in map(anchor, re.findall(
            r"^#+ .*", target.read_text(encoding="utf-8"), re.M)))))
    return found


def coder_files(root, files):
    """What is wrong with the files that name the HT coder, in lines."""
    text = pathlib.Path(root, "docs/adding-a-stage.md").read_text(encoding="utf-8")
    table = set(CODER_ROW.findall(text.partition(CODER_TABLE)[2].partition("\n\n")[0]))
    naming = {str(path.relative_to(root)) for path in files if not path.name.startswith(("ht.", "ht_"))
              and CODER.search(path.read_text(encoding="utf-8"))}
    wrong = [f"{path}: names the HT coder, but docs/adding-a-stage.md does not have it" for path in naming - table]
    wrong += [f"{path}: does not name the HT coder, as docs/adding-a-stage.md has it" for path in table - naming]
    if len(table) > MOST_CODER_FILES:
        wrong.append(f"docs/adding-a-stage.md: {len(table)} files for a block coder, at most {MOST_CODER_FILES}")
    return sorted(wrong)


def sources(root, rooms):
    return sorted(p for room in rooms for p in (root / room).rglob("*") if p.suffix in SOURCES)


def untagged(root):
    """Files without the tag as their first line, or behind #!, and how many were read."""
    files = [root / "Makefile"] * (root / "Makefile").exists() + sorted(
        p for room in ROOMS for p in (root / room).rglob("*") if p.is_file() and p.suffix in SOURCES + (".py", ".sh", ".mk", ".mak")
        and not str(p.relative_to(root)).startswith(UNTAGGED))
    wrong = []
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines() + ["", ""]
        at = 1 if lines[0].startswith("#!") else 0
        if lines[at] not in ("// " + TAG, "# " + TAG, "/* " + TAG + " */"):
            wrong.append(f"{path.relative_to(root)}:{at + 1}: is not the SPDX tag alone: {lines[at][:60]}")
    return wrong, len(files)


def main(root):
    root = pathlib.Path(root).resolve()
    wrong = coder_files(root, sources(root, PRODUCT))
    tags, files = untagged(root)
    wrong += tags
    checked = max(len(wrong) - len(tags), 1) + files
    for path in sources(root, PRODUCT + OTHERS):
        for head, line, lines in functions(path.read_text(encoding="utf-8")):
            checked += 1
            if lines > LONGEST_FUNCTION:
                wrong.append(f"{path.relative_to(root)}:{line}: {lines} lines, at most {LONGEST_FUNCTION}: {head[:60]}...")
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "python").glob("*.md")]):
        text = path.read_text(encoding="utf-8")
        for link, leads in links(path, text):
            checked += 1
            if not leads:
                wrong.append(f"{path.relative_to(root)}: {link} leads nowhere")
        for line, sentence in sentences(text):
            checked += 1
            if (words := len(sentence.split())) > LONGEST_SENTENCE:
                wrong.append(f"{path.relative_to(root)}:{line}: {words} words, at most {LONGEST_SENTENCE}: "
                             f"{sentence[:60]}...")
    print("\n".join(wrong + [f"{checked - len(wrong)} passed, {len(wrong)} failed"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")))
