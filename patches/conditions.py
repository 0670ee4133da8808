# SPDX-License-Identifier: LGPL-2.1-or-later
"""Resolves cudaenc_compat.h for one FFmpeg: what a maintainer of that branch would have written.
"""
import glob
import re


class Conditions:
    """What the preprocessor would say of FFmpeg's versions and names, from the sources of a tree."""

    def __init__(self, tree, read):
        self.versions = {}
        for library in ('avcodec', 'avutil'):
            text = ''.join(read(file) for file in sorted(glob.glob(f'{tree}/lib{library}/version*.h')))
            self.versions[library.upper()] = tuple(
                int(re.search(rf'LIB{library.upper()}_VERSION_{part} +(\d+)', text)[1]) for part in ('MAJOR', 'MINOR', 'MICRO'))
        headers = ''.join(read(file) for folder in ('libavutil', 'libavcodec') for file in sorted(glob.glob(f'{tree}/{folder}/*.h'))
                          if '/cudaenc' not in file)
        self.names = set(re.findall(r'^# *define +(\w+)', headers, re.MULTILINE))

    def holds(self, line):
        """True, False, or None where it is none of FFmpeg's versions and names."""
        version = re.fullmatch(r'#if LIB(\w+)_VERSION_(?:MAJOR|INT) (<|>=) (?:(\d+)|AV_VERSION_INT\((\d+), (\d+), (\d+)\))', line)
        if version:
            wanted = tuple(int(number) for number in version.groups()[2:] if number)
            is_older = self.versions[version[1]][:len(wanted)] < wanted
            return is_older == (version[2] == '<')
        name = re.fullmatch(r'#if(n?)def (\w+)(?: /\*.*\*/)?', line)
        if name and re.match('AV_|FF_|CODEC_', name[2]):
            return (name[2] in self.names) != bool(name[1])
        return None

    def resolve(self, text, known=()):
        """The text without the conditions that are known. known: names of our own with their values."""
        kept, stack = [], []  # stack: of each condition whether it is known, and whether its lines stay
        for line in text.split('\n'):
            if re.match('#if', line):
                ours = re.fullmatch(r'#if (CUDAENC_\w+)', line)
                holds = bool(int(dict(known)[ours[1]])) if ours and ours[1] in dict(known) else self.holds(line)
                stack.append([holds is not None, holds is not False])
                if holds is not None:
                    continue
            elif re.match('#else', line) and stack[-1][0]:
                stack[-1][1] = not stack[-1][1]
                continue
            elif re.match('#endif', line) and stack.pop()[0]:
                continue
            if all(stays for _, stays in stack):
                kept.append(line)
        return re.sub(r'\n{3,}', '\n\n', '\n'.join(kept))


def arguments_at(text, start):
    """The arguments of a call whose parenthesis opens at `start`, and where it ends."""
    depth, arguments, begin = 0, [], start + 1
    for at in range(start, len(text)):
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        if (depth == 1 and text[at] == ',') or depth == 0:
            arguments.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return arguments, at + 1
    raise ValueError(text[start:start + 40])


class Abbreviations:
    """Macros, and functions of one statement: they go where they are used."""

    def __init__(self, header):
        self.bodies = {}  # of each name its parameters, None for a macro without, and what stands for it
        configured = set(re.findall(r'#define (\w+)', ''.join(re.findall(r'#if CONFIG_\w+\n(?:#.*\n)+#endif', header))))
        self.rest = re.sub(r'#define (CUDAENC_\w+)(\((\w+)\))? ?((?:.*\\\n)*.*)\n',
                           lambda f: f[0] if f[1] in configured else self.take_macro(f), header)
        self.rest = re.sub(r'(?:/\*\*(?:(?!\*/)[\s\S])*\*/\n)?static inline [^;{]*?(\w+)\(([^)]*)\)\n\{\n((?:    /\*.*\*/\n)?)'
                           r'    (?:return )?([^;{}]*);\n\}\n', self.take_function, self.rest)

    def take_macro(self, found):
        name, _, parameter, body = found.groups()
        self.bodies[name] = ([parameter] if parameter else None, body.replace('\\\n', '\n').strip())
        return ''

    def take_function(self, found):
        name, parameters, _, body = found.groups()
        self.bodies[name] = ([re.search(r'(\w+)$', p)[1] for p in parameters.split(',')], body)
        return ''

    def replace(self, text):
        for name, (parameters, body) in self.bodies.items():
            at = 0
            while found := re.compile(rf'\b{name}\b' + (r'\(' if parameters else '')).search(text, at):
                end, own = found.end(), body
                if parameters:
                    arguments, end = arguments_at(text, end - 1)
                    own = re.sub(r'\b(' + '|'.join(parameters) + r')\b', lambda p: arguments[parameters.index(p[1])], body)
                text = text[:found.start()] + own + text[end:]
                at = found.start() + len(own)
        return re.sub(r'[ \t]+\n', '\n', re.sub(r'\n +\n(?= )', '\n', text))


def without_compat(sources, tree, read):
    """The glue for one tree: `sources`, contents by path, without cudaenc_compat.h. What of it is more than an abbreviation
    goes to cudaenc_glue.h."""
    conditions = Conditions(tree, read)
    path = 'libavcodec/cudaenc_compat.h'
    header = conditions.resolve(sources[path])
    values = re.findall(r'#define (CUDAENC_HAVE_\w+) (\d)', header)
    abbreviations = Abbreviations(header)
    rest = abbreviations.rest[abbreviations.rest.index('#include "config.h"'):abbreviations.rest.rindex('#endif')]
    rest = re.sub(r'#include "(?:libavutil/)?version.h"\n', '', rest)
    included = r'(?:#if CONFIG_\w+\n(?:#include .*\n)+#endif\n|#include .*\n)'
    includes = re.findall(f'^{included}', rest, re.MULTILINE)
    rest = re.sub(f'^{included}', '', rest, flags=re.MULTILINE)
    rest = re.sub(r'^/\*(?:(?!\*/)[\s\S])*\*/\n(?=\n|\Z)', '', abbreviations.replace(rest), flags=re.MULTILINE)  # of nothing
    result = {}
    for file, text in sources.items():
        if file == path:
            continue
        text = conditions.resolve(text, values).replace('#include "cudaenc_compat.h"\n', '')
        text = abbreviations.replace(text)
        if file.endswith('cudaenc_glue.h'):
            more = ''.join(line for line in includes if line not in text)
            text = re.sub(r'((?:#include "[^"]*"\n)+)(?![\s\S]*#include)', lambda f: f[1] + more, text, count=1)
            end = text.rindex('#endif')
            text = text[:end] + re.sub(r'\n{3,}', '\n\n', rest.strip()) + '\n\n' + text[end:]
        result[file] = text
    return result
