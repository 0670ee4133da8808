#!/usr/bin/env python3
"""Rules that keep the house readable: functions of at most 120 lines, sentences of at most 40 words.

Usage: house.py [ROOT]   Ends in "N passed, N failed".
Functions are those of the product, lambdas within them counted; sentences are those of *.md here and below docs, without
code, headings and tables. SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import sys

LONGEST_FUNCTION = 120  # lines
LONGEST_SENTENCE = 40  # words
PRODUCT = ("common", "cuda_kernels", "libavcodec_ext")

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


def main(root):
    checked, wrong = 0, []
    for path in sorted(p for room in PRODUCT for p in pathlib.Path(root, room).rglob("*") if p.suffix in
                       (".h", ".c", ".cpp", ".cu", ".cuh")):
        for head, line, lines in functions(path.read_text(encoding="utf-8")):
            checked += 1
            if lines > LONGEST_FUNCTION:
                wrong.append(f"{path.relative_to(root)}:{line}: {lines} lines, at most {LONGEST_FUNCTION}: {head[:60]}...")
    for path in sorted([*pathlib.Path(root).glob("*.md"), *pathlib.Path(root, "docs").rglob("*.md")]):
        for line, sentence in sentences(path.read_text(encoding="utf-8")):
            checked += 1
            if (words := len(sentence.split())) > LONGEST_SENTENCE:
                wrong.append(f"{path.relative_to(root)}:{line}: {words} words, at most {LONGEST_SENTENCE}: "
                             f"{sentence[:60]}...")
    print("\n".join(wrong + [f"{checked - len(wrong)} passed, {len(wrong)} failed"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")))
