# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options are told once, in the library's tables (common/options.h). The glue's AVOptions, as `ffmpeg -h` prints them, and the
comments of cudaenc.h must say the same: name, default, range, named values, text. The tables of docs/encoders.md and decoders.md,
and of patches/doc, which become FFmpeg's texinfo, are written from these. Ends in a line "N passed, N failed".

usage: options.py FFMPEG_BUILD [--write]
--write: writes the documents' tables and the comments of cudaenc.h; else they are compared
"""
import os
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tally import expect, finish

BUILD, WRITE = sys.argv[1], sys.argv[2:] == ['--write']
ROOT = os.path.abspath(os.path.dirname(__file__) + '/../..')
HEADER = ROOT + '/common/cudaenc.h'
STRUCTS = {'j2k_cuda': 'CudaencJ2kOptions', 'mjpeg_cuda': 'CudaencMjpegOptions', 'h264_cavlc_cuda': 'CudaencH264Options'}
ENUMS = {'CudaencJ2kOptions': {'profile': 'CudaencJ2kProfile', 'format': 'CudaencJ2kFileFormat', 'pred': 'CudaencJ2kWavelet',
                               'rate_control': 'CudaencJ2kRateControl', 'cblk_style': 'CudaencJ2kStyle',
                               'prog': 'CudaencJ2kProgression', 'tile_parts': 'CudaencJ2kTileParts', 'xyz': 'CudaencXyz',
                               'xyz_range': 'CudaencXyzRange', 'xyz_matrix': 'CudaencXyzMatrix',
                               'xyz_transfer': 'CudaencXyzTransfer', 'xyz_primaries': 'CudaencXyzPrimaries'},
         'CudaencMjpegOptions': {'huffman': 'CudaencMjpegHuffman', 'matrix': 'CudaencMjpegMatrix'},
         'CudaencH264Options': {'profile': 'CudaencH264Profile', 'rate_control': 'CudaencH264RateControl',
                                'avc_intra_flavor': 'CudaencAvcIntraFlavor', 'encrypt_parts': 'CudaencH264EncryptedParts'}}
# Members that FFmpeg's own options set (-b:v, -threads), or nobody.
LIBRARY_ONLY = {'CudaencConfig': {'threads', 'stage_times'},
                'CudaencDecoderConfig': {'threads', 'stage_times', 'lowres', 'max_pixels', 'usual_format', 'rgb'},
                'mjpeg_cuda decoder': {'layers', 'region', 'channels'}, 'CudaencJ2kOptions': {'bit_rate'},
                'CudaencMjpegOptions': {'frame_bytes', 'quality_min', 'quality_max'},
                'CudaencH264Options': {'slices', 'rate_control', 'qp', 'aq', 'bit_rate', 'max_rate', 'buffer_size', 'hrd', 'qp_min',
                                       'qp_max', 'chroma_location', 'gop_size', 'min_gop_size'}}
GLUE_ONLY = {'h264_cavlc_cuda': {'qp', 'crf', 'aq-strength', 'nal-hrd', 'a53cc', 'udu_sei', 'encrypt_key', 'encrypt_iv'}}
RENAMED = {'timecodes': 's12m_tc', 'avc_intra_class': 'avcintra-class', 'avc_intra_flavor': 'avcintra-flavor', 'scene_cut': 'sc_threshold'}
# Options that the glue leaves open, by -1, until it knows FFmpeg's own: what their text adds.
OPEN = {('mjpeg_cuda', 'quality'): '; -1: as -q:v says, else 90',
        ('h264_cavlc_cuda', 'repeat_headers'): '; -1: unless they are global'}
# Members that describe the input, or point to what no row can check.
NO_OPTIONS = set('''struct_size codec format fields device_frames device_packets device_memory cuda_context log log_opaque j2k mjpeg h264
    frame_rate_num frame_rate_den sample_aspect_num sample_aspect_den luma_matrix chroma_matrix keystream keystream_opaque'''.split())


class Option:
    """An option, of the library or of the glue. named: (name, value, text); default: a number, a text or None."""

    def __init__(self, name, text, default, low, high, named=(), power_of_two=False, kind='int'):
        self.name, self.text, self.default, self.low, self.high = name, text, default, low, high
        self.named, self.power_of_two, self.kind = list(named), power_of_two, kind

    def values(self, quote, to=' to '):
        """What is allowed, for readers."""
        names = [quote(name) for name, *_ in self.named]
        if self.kind in ('string', 'binary'):
            return {'string': 'text', 'binary': 'hex'}[self.kind]
        if self.kind == 'flags':
            return ', '.join(names) + ', joined by ' + quote('+')
        if self.low == 0 and self.high == 1:
            numbers = ['0', '1'] if to == ' to ' else ['0 or 1']
        else:
            numbers = ['powers of two, ' * self.power_of_two + (f'{self.low:g} or more' if self.high >= 2**63 - 1 else
                                                                f'{self.low}{to}{self.high}')]
        named = {value for _, value, _ in self.named}
        return ', '.join(names + (numbers if set(range(self.low, min(self.high, self.low + 100) + 1)) - named else []))

    def default_name(self):
        return next((name for name, value, _ in self.named if value == self.default and self.kind != 'flags'), None)


def read_library():
    """struct -> [Option]"""
    tables = {}
    printed = subprocess.run([BUILD + '/../check/test_options', 'print'], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in printed.splitlines():
        struct, name, kind, default, low, high, power, names, text_default, text = line.split('\t')
        default, low, high = int(default), int(low), int(high)
        names = [one.split('|') for one in names.split()]
        flags = len(names) > 1 and high == 2**len(names) - 1
        values = [1 << i for i in range(len(names))] if flags else range(min(default, low), high + 1)
        option = Option(name, text, default, low, high, [(n, value, None) for value, same in zip(values, names) for n in same],
                        power == '1', 'string' if kind == 'text' else 'flags' if flags else 'int')
        if kind == 'text':
            option.default = text_default or None
        tables.setdefault(struct, []).append(option)
    return tables


def number(text):
    return 2**63 - 1 if text == 'I64_MAX' else int(text) if re.fullmatch(r'-?\d+', text) else float(text)


def read_glue(kind, codec):
    """name -> Option, from ffmpeg -h encoder=CODEC, or decoder="""
    options, last = {}, None
    printed = subprocess.run([BUILD + '/ffmpeg', '-hide_banner', '-h', f'{kind}={codec}'], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    for line in printed.splitlines():
        constant = re.fullmatch(r'     (\S+) +(-?\d+)? +(?:E\.|\.D).V\S* (.*)', line)
        row = re.fullmatch(r'  -(\S+) +<(\w+)> +(?:E\.|\.D).V\S* (.*?)(?: \(from (\S+) to (\S+)\))?(?: \(default (.*)\))?', line)
        if constant:
            last.named.append((constant[1], int(constant[2]) if constant[2] else 1 << len(last.named), constant[3]))
        elif row:
            name, kind, text, low, high, default = row.groups()
            last = options[name] = Option(name, text, default, number(low or '0'), number(high or '1'), kind=kind)
    for option in options.values():
        named = {name: value for name, value, _ in option.named}
        if option.kind == 'boolean':
            option.default = {'auto': -1, 'false': 0, 'true': 1}[option.default]
        elif option.kind == 'string':
            option.default = option.default and option.default.strip('"')
        elif option.kind != 'binary':
            option.default = named[option.default] if option.default in named else number(option.default)
            option.low, option.high = (x if x != int(x) else int(x) for x in (option.low, option.high))
        if option.kind == 'flags':
            option.high = (1 << len(option.named)) - 1
    return options


def compare(encoder, library, glue, structs, glue_only=frozenset()):
    """Whether the glue's options are the library's. Returns those for the documents, in the glue's order."""
    merged = dict(glue)
    for struct in structs:
        for option in library[struct]:
            if option.name in LIBRARY_ONLY[struct] | LIBRARY_ONLY.get(encoder, set()):
                continue
            name = RENAMED.get(option.name, option.name)
            where = f'{encoder}: {name}'
            other = glue.get(name)
            expect(other, f'{where} is no option of the glue')
            if not other:
                continue
            suffix = OPEN.get((encoder, name), '')
            expect(other.text == option.text + suffix, f"{where}: -h says '{other.text}', the table '{option.text + suffix}'")
            default = -1 if suffix else option.default
            expect(other.default == default, f'{where}: default {other.default} in -h, {default} in the table')
            if other.kind not in ('string', 'boolean', 'flags'):
                lowest = min(default, option.low)
                expect(f'{other.low:g} {other.high:g}' == f'{lowest:g} {option.high:g}',
                       f'{where}: from {other.low} to {other.high} in -h, {lowest} to {option.high} in the table')
            elif other.kind != 'string':
                expect((option.low, option.high) == (0, other.high), f'{where}: {other.kind} in -h, to {option.high} in the table')
            expect((other.kind == 'string') == (option.kind == 'string'), f'{where}: {other.kind} in -h')
            names = [(n, value) for n, value, _ in other.named]
            if (encoder, name) == ('h264_cavlc_cuda', 'level'):  # named by themselves
                other.named[:] = [(n, 0 if n == 'auto' else 9 if n == '1b' else round(float(n) * 10), text)
                                  for n, _, text in other.named]  # -h has no values of floats
            else:
                expected = [(n, value) for n, value, _ in option.named]
                expect(names == expected, f'{where}: values {names} in -h, {expected} in the table')
            merged[name] = Option(name, other.text, default, option.low, option.high, other.named, option.power_of_two, other.kind)
            merged[name].member = option
    own = {name for name, option in merged.items() if not hasattr(option, 'member')}
    expect(own == glue_only, f'{encoder}: {own} are options of the glue alone')
    return list(merged.values())


def update(path, text):
    """Writes a file, or tells whether it is as it should be."""
    with open(path) as file:
        old = file.read()
    if WRITE and old != text:
        with open(path, 'w') as file:
            file.write(text)
    name = os.path.relpath(path, ROOT)
    was, want = old.splitlines(), text.splitlines()
    line = next((i for i, (a, b) in enumerate(zip(was, want)) if a != b), min(len(was), len(want)))
    expect(WRITE or old == text,
           f'{name} is stale from line {line + 1} on: options.py --write makes\n    ' + ''.join(want[line:line + 1]))


def check_enum(source, enum, option):
    """Enumerators have the values and the texts that the glue's constants have."""
    value, rows = -1, []
    for _, given, text in re.findall(r'(CUDAENC_\w+)(?: = (\d+))?,?\s*/\*\*<\s*(.*?)\s*\*/',
                                     re.search(rf'typedef enum {enum} {{(.*?)}} {enum};', source, re.S)[1], re.S):
        value = int(given) if given else value + 1
        rows.append((value, ' '.join(text.split())))
    wanted = list(dict.fromkeys((v, text) for _, v, text in option.named if v >= 0))
    expect(rows == wanted, f'cudaenc.h: {enum} has {rows}, -h {wanted}')


def member_comment(struct, option, default_text):
    if option.kind == 'string':
        return option.text + (f'; default "{option.default}"' if option.default else '')
    values = ENUMS.get(struct, {}).get(option.name) or option.values(str, '..')
    if option.kind == 'flags':
        values = 'sum of ' + values
    elif option.name not in ENUMS.get(struct, {}) and option.named:
        values = Option('', '', 0, option.low, option.high).values(str, '..')
    return f'{option.text}; {values}, default {option.default}' + (f': {default_text}' if default_text else '')


def check_header(library, documented):
    with open(HEADER) as file:
        source = file.read()
    glue = {(STRUCTS[encoder], option.member.name): option for encoder, options in documented.items() for option in options
            if hasattr(option, 'member')}
    for struct, table in library.items():
        begin = source.index(f'typedef struct {struct} {{')
        end = source.index(f'}} {struct};')
        body = source[begin:end]
        expected = {option.name: option for option in table}
        for names, comment in re.findall(r'^    [\w ]+?\*?(\w+(?:, \w+)*);(?:\s*/\*\*<\s*(.*?)\s*\*/)?', body, re.M | re.S):
            for name in names.split(', '):
                option = expected.pop(name, None)
                expect(option or name in NO_OPTIONS, f'cudaenc.h: {struct}.{name} has no row in the table')
                if not option:
                    continue
                other = glue.get((struct, name))
                default = other.default_name() if other else None
                wanted = member_comment(struct, option, next((text for n, value, text in other.named if n == default), None)
                                        if default and option.default < 0 else None)
                got = ' '.join(comment.split())
                if WRITE:
                    body = re.sub(rf'(\b{name};\s*/\*\*<).*?\*/', lambda m: f'{m[1]} {wanted} */', body, flags=re.S)
                expect(WRITE or got == wanted, f"cudaenc.h: {struct}.{name} says '{got}', the table '{wanted}'")
        expect(not expected, f'cudaenc.h: {struct} has no {sorted(expected)}')
        source = source[:begin] + body + source[end:]
    for (struct, name), option in glue.items():
        if name in ENUMS[struct]:
            check_enum(source, ENUMS[struct][name], option)
    if WRITE:
        update(HEADER, subprocess.run(['clang-format-19', '--assume-filename=' + HEADER], input=source, stdout=subprocess.PIPE,
                                      check=True, text=True).stdout)


def markdown_table(options):
    lines = ['| option | values | default | |', '|---|---|---|---|']
    for option in options:
        name = option.default_name()
        default = f'`{name}`' if name else 'not set' if option.default is None else f'{option.default:g}' \
            if not isinstance(option.default, str) else f'`{option.default}`'
        about = next((text for n, _, text in option.named if n == name and n == 'auto' and option.kind != 'string'), None)
        values = '`1` to `6.2`, `auto`' if option.name == 'level' else option.values('`{}`'.format)
        lines.append(f'| `{option.name}` | {values} | {default}{": " + about if about else ""} | {option.text} |')
    return '\n'.join(lines) + '\n'


def texinfo_table(options):
    kinds = {'int': 'integer', 'int64': 'integer', 'double': 'float'}
    lines = ['@table @option']
    for option in options:
        lines.append(f'@item {option.name} @var{{{kinds.get(option.kind, option.kind)}}}')
        name = option.default_name()
        text = option.text + '.'
        numbers = option.kind in ('int', 'int64', 'double', 'float')
        if numbers and (not option.named or option.name in ('level', 'restart_interval')):
            text += f' {"A power of two, f" if option.power_of_two else "F"}rom {option.low} ' + \
                ('on' if option.high >= 2**63 - 1 else f'to {option.high}') + '.'
        if option.default is not None:
            text += f' Default is @samp{{{name or option.default}}}.'
        lines += textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False)
        described = {}
        for n, _, about in option.named:
            described.setdefault(about, []).append(n)
        if described.pop('', None) or described:
            lines.append('@table @samp')
            for about, (first, *others) in described.items():
                lines += ['@item ' + first] + ['@itemx ' + n for n in others]
                lines += textwrap.wrap(about + '.', 79, break_on_hyphens=False)
            lines.append('@end table')
        lines.append('')
    return lines[:-1] + ['@end table']


def document_with(path, documented):
    with open(path) as file:
        text = file.read()
    for encoder, options in documented.items():
        section = text.index(f'\n## {encoder}\n')
        begin = text.index('| option | values | default | |\n', section)
        end = text.index('\n\n', begin) + 1
        text = text[:begin] + markdown_table(options) + text[end:]
    return text


def texinfo_with(path, documented):
    with open(path) as file:
        lines = file.read().splitlines()
    for codec, options in documented.items():
        first = lines.index('@table @option', lines.index('@section ' + codec))
        last = lines.index('@subsection Examples', first) - 2
        lines[first:last + 1] = texinfo_table(options)
    return '\n'.join(lines) + '\n'


library = read_library()
encoders = {codec: compare(codec, library, read_glue('encoder', codec), ('CudaencConfig', struct), GLUE_ONLY.get(codec, frozenset()))
            for codec, struct in STRUCTS.items()}
decoders = {codec: compare(f'{codec} decoder', library, read_glue('decoder', codec), ('CudaencDecoderConfig',))
            for codec in ('mjpeg_cuda', 'j2k_cuda')}
check_header(library, encoders)
for name, documented in ('encoders', encoders), ('decoders', decoders):
    update(f'{ROOT}/docs/{name}.md', document_with(f'{ROOT}/docs/{name}.md', documented))
    update(f'{ROOT}/patches/doc/{name}.texi', texinfo_with(f'{ROOT}/patches/doc/{name}.texi', documented))
finish()
