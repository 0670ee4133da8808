# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of j2k_cuda at random. Every stream that the encoder makes is read by two decoders, FFmpeg's and OpenJPEG, some by Grok
as well, and by Grok in the place of one that the encoder warns of. Lossless streams must give the source, of others the decoders
must give the same. Options that are refused must be so in one line. Some streams are the emulator's too.

usage: matrix.py FFMPEG_BUILD [COUNT [SEED [ht]] | -]
COUNT: accepted combinations; 2000. SEED: of the first one, 1. ht: all with the HT block coder. -: lines that a run printed, from standard input
matrix.sh builds the program that encodes and decodes, FFMPEG_BUILD/tests/data/matrix (matrix.cpp).
"""
import array
import collections
import concurrent.futures
import os
import queue
import random
import re
import subprocess
import sys
import tempfile

from decoders import HAVE_GROK, Case, Failure, harmless, known, read, run, tolerance, warned, with_grok
import pictures

BUILD = sys.argv[1]
PROGRAM = BUILD + '/tests/data/matrix'
EMULATED, BY_GROK = 32, 16  # one of so many
HELP = run(BUILD + '/ffmpeg', '-hide_banner', '-h', 'encoder=j2k_cuda')
OPTIONS = set(re.findall(r'^  -(\w+)', HELP, re.M))
FORMATS = [f for f in re.search('Supported pixel formats: (.*)', HELP)[1].split() if f != 'cuda']
RATE_CONTROLS = re.findall(r'^     (\w+)', re.search(r'^  -rate_control .*\n((?:     .*\n)*)|\Z', HELP, re.M)[1] or '', re.M)
CONTENTS = 'mixed', 'mixed', 'smooth', 'smooth', 'noise', 'extremes', 'flat', 'board', 'dots'
STYLES = 'bypass', 'reset', 'termall', 'vsc', 'erterm', 'segsym'
ORDERS = 'lrcp', 'rlcp', 'rpcl', 'pcrl', 'cprl'


def combination(seed, ht=False):
    """A line for the program, without its tasks: NUMBER PIXEL_FORMAT WIDTHxHEIGHT CONTENT SEED OPTION=VALUE..."""
    dice = random.Random(seed)

    def one_in(n):
        return dice.randrange(n) == 0

    def length():
        return dice.randint(1, 9) if one_in(10) else dice.randint(100, 220) if one_in(12) else dice.randint(10, 90)
    pix_fmt, width, height = dice.choice(FORMATS), length(), length()
    components = len(pictures.components_of(pix_fmt, width, height)[0])
    lossless = one_in(2)
    options = {'pred': 'dwt53' if lossless else 'dwt97', 'format': dice.choice(('j2k', 'jp2'))}
    if not lossless:
        options['quality'] = dice.choice((100, 90, 75, dice.randint(1, 100)))
    levels = dice.randint(7, 32) if one_in(15) else dice.randint(0, 6)
    options['levels'] = levels
    log2 = dice.randint(2, 10 if one_in(4) else 6)
    options['cblk_width'] = 1 << log2
    options['cblk_height'] = 1 << dice.randint(2, 6 if one_in(50) else min(10 if one_in(4) else 6, 12 - log2))
    if not one_in(3):
        style = dice.choice((1, 1 << dice.randrange(6), dice.randint(1, 63)))
        options['cblk_style'] = '+'.join(name for i, name in enumerate(STYLES) if style >> i & 1)
    options['prog'] = dice.choice(ORDERS)
    if one_in(2):
        options['precincts'] = ','.join(f'{1 << dice.randint(1, 8)}x{1 << dice.randint(1, 8)}'
                                        for _ in range(dice.randint(1, min(4, levels + 1))))
    if one_in(3):
        options['tile_width'] = dice.randint(max(1, width // 4), width)
    if one_in(3):
        options['tile_height'] = dice.randint(max(1, height // 4), height)
    if 'x_offset' in OPTIONS and one_in(4):  # a multiple of the sub-sampling; the first tile has some of the picture
        for side, length_of in ('x', 'width'), ('y', 'height'):
            options[f'{side}_offset'] = begin = 4 * dice.randint(0, 30) if one_in(2) else dice.randint(0, 120)
            size = options.get(f'tile_{length_of}')
            options[f'tile_{side}_offset'] = dice.randint(max(0, begin - size + 1) if size else 0, begin)
    if one_in(3):
        options['tile_parts'] = dice.choice(('resolution', 'component', 'resolution+component'))
    if one_in(6):  # some resolutions or components first; the rest, and in some those again
        middle, some = dice.randint(1, levels + 1), dice.randint(1, components)
        rest = 0 if one_in(3) or some < components else middle
        options['poc'] = f'0,0,1,{middle},{some},{dice.choice(ORDERS)}/{min(rest, levels)},0,1,{levels + 1},{components},' + \
            dice.choice(ORDERS)
    if one_in(6):
        x, y = dice.randrange(width), dice.randrange(height)
        options['roi'] = f'{x},{y},{dice.randint(1, width - x)},{dice.randint(1, height - y)}'
    if one_in(4):
        options['mct'] = dice.randint(0, 1) if one_in(2) else 0
    if one_in(3):
        options['guard_bits'] = dice.randint(1, 7)
    for name in 'sop', 'eph', 'plt', 'tlm':
        if one_in(4):
            options[name] = 1
    if one_in(8):
        options['comment'] = dice.choice(('', 'x', 'y' * 300))
    # What not every version has. A target of its own rules out the others.
    layers = 1
    if 'layers' in OPTIONS and one_in(4):
        layers = dice.randint(2, 12)
        options['layers'] = layers
    targets = [name for name in ('frame_bytes', 'compression_ratio', 'psnr', 'layer_rates') if name in OPTIONS]
    if targets and one_in(3):
        target = dice.choice(targets)
        if target == 'layer_rates':
            options.pop('layers', None)
            layers = dice.randint(2 if lossless else 1, 4)
            rates = sorted((dice.randint(2, 60) for _ in range(layers)), reverse=True)
            options[target] = ','.join(map(str, rates[:-1] + [1 if lossless else rates[-1]]))
        else:
            samples = sum(w * h * (1 + (depth > 8)) for w, h, depth, *_ in pictures.components_of(pix_fmt, width, height)[0])
            options[target] = {'frame_bytes': 500 + samples // dice.randint(2, 40), 'compression_ratio': dice.randint(2, 12),
                               'psnr': dice.randint(20, 60)}[target]
        if target != 'psnr' and 'visual_weights' in OPTIONS and one_in(3):
            options['visual_weights'] = 1
    if RATE_CONTROLS and one_in(2 if set(targets) & set(options) else 50):
        options['rate_control'] = dice.choice(RATE_CONTROLS if one_in(10) else ['pcrd'] if 'psnr' in options else
                                              [m for m in RATE_CONTROLS if m != 'none'])
    if 'poc' in options:
        options['poc'] = re.sub(r'^(\d+,\d+),1,(.*/\d+,\d+),1,', rf'\1,{dice.randint(1, layers)},\2,{layers},', options['poc'])
    if one_in(5) or ht:  # the HT block coder: of several layers the last one has all
        options.pop('roi', None)
        if 'layer_rates' in options:
            options['layer_rates'] = re.sub(r'[^,]+$', '1', options['layer_rates'])
        elif layers > 1 and set(targets) & set(options):
            options.pop('layers')
            layers = 1
        if options.get('rate_control') not in ('psp', 'pcrd') or not set(targets) & set(options):
            options.pop('rate_control', None)
        options['cblk_style'] = 'ht'
        if 'poc' in options:
            options['poc'] = re.sub(r'^(\d+,\d+),(\d+),(.*/\d+,\d+),\d+,', lambda m: f'{m[1]},{min(int(m[2]), layers)},{m[3]},{layers},', options['poc'])
    return f'{seed} {pix_fmt} {width}x{height} {dice.choice(CONTENTS)} {seed} ' + \
        ' '.join(f'{name}={value}' for name, value in options.items())


class Program:
    """A process that takes a line and answers with one."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, errors='replace')

    def ask(self, line):
        try:
            self.process.stdin.write(line + '\n')
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = ''
        if not answer.endswith('\n'):
            code = self.process.wait()
            self.start()
            raise Failure(f'the program died, {code}')
        fields = collections.defaultdict(list)
        for field in answer.rstrip('\n').split('\t')[1:]:
            name, value = field.split('=', 1)
            fields[name].append(value)
        return fields


def from_grok(words, case, reference, program):
    """How far Grok is from another decoder, None if it has no such picture."""
    program.ask(' '.join(words[:5] + [reference + ',files'] + words[5:]))
    path = f'{program.folder}/{words[0]}'
    samples, expected = array.array('H', read(path + '.samples')), []
    for width, height, depth, *_ in case.components:
        expected.append((width, height, depth, samples[:width * height]))
        samples = samples[width * height:]
    try:
        return pictures.difference(with_grok(read(path + '.jp2'), program.folder, case.components), expected)
    finally:
        os.unlink(path + '.jp2')
        os.unlink(path + '.samples')


def told(line):
    """Whether the encoder warns of decoders, or that it cannot give what options ask for; the stream is right then."""
    return warned([line]) or re.search('codes all passes of blocks|format j(?:p2|2k) cannot tell of|psnr .* is not reached', line)


def judge(line, program):
    """None for what was refused as it should be, else what is wrong, and how many decoders read the stream well."""
    words = line.split()
    number = int(words[0])
    case = Case(words[1], words[2], dict(option.split('=', 1) for option in words[5:]))
    fields = program.ask(' '.join(words[:5] + ['jpeg2000,openjpeg' + ',emu' * (number % EMULATED == 0)] + words[5:]))
    if 'refused' in fields:
        own = [text for text in fields['line'] if 'was lost' not in text and not told(text)]  # the former is FFmpeg's glue's
        if fields['refused'] == ['-22'] and len(own) == 1:
            return None
        return [f'refused with {fields["refused"]}: {fields["line"]}'], 0
    case.warned = warned(fields['line'])
    wrong = [f'the encoder says {text}' for text in fields['line'] if not told(text)]
    if 'emu' in fields and fields['emu'] != ['same']:
        wrong.append('other bytes on the emulator')

    limit = int(case.options.get('frame_bytes', 0))
    if 0 < limit < int(fields['bytes'][0]):
        wrong.append(f'{fields["bytes"][0]} bytes')

    good = []
    for name in 'jpeg2000', 'openjpeg':
        said = fields[name + '.line']
        distance = int(fields[name][0])
        trouble = [f'{name} says {text}' for text in list(dict.fromkeys(said))[:3] if not harmless(text)]
        if distance < 0 or (case.lossless and distance):
            trouble.append(f'{name} is {distance} from the source')
        if not trouble:
            good.append(name)
        elif not known(name, case):
            wrong += trouble
    if len(good) == 2 and int(fields['between'][0]) > tolerance(good, case):
        trusted = [name for name in good if not known(name, case)]
        if len(trusted) == 2:
            wrong.append(f'{" and ".join(good)} are {fields["between"][0]} apart')
        good = trusted
    if HAVE_GROK and good and not wrong and (len(good) < 2 or number % BY_GROK == 0):
        try:
            distance = from_grok(words, case, good[-1], program)
        except (Failure, OSError, ValueError) as e:
            distance = e
        if isinstance(distance, int) and distance <= (0 if case.lossless else tolerance([good[-1]], case)):
            good.append('grok')
        elif not known('grok', case) and not known(good[-1], case):
            wrong.append(f'grok to {good[-1]}: {distance}')
    return wrong, len(good)


def main():
    if sys.argv[2:] == ['-']:
        lines, count = (line.strip() for line in sys.stdin), 1 << 30
    else:
        count = int((sys.argv[2:] or [2000])[0])
        first = int((sys.argv[3:] or [1])[0])
        lines = (combination(seed, sys.argv[4:] == ['ht']) for seed in range(first, first + 2 * count))
    workers = os.cpu_count()
    passed = failed = refused = lone = asked = 0
    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        programs = queue.SimpleQueue()
        for i in range(workers):
            os.mkdir(f'{where}/{i}')
            programs.put(Program(f'{where}/{i}'))

        def check(line):
            program = programs.get()
            try:
                return judge(line, program)
            except Failure as e:
                return [str(e)], 0
            finally:
                programs.put(program)
        while passed + failed < count:
            batch = [line for _, line in zip(range(min(200, count - passed - failed)), lines)]
            if not batch:
                break
            for line, verdict in zip(batch, pool.map(check, batch)):
                if verdict is None:
                    refused += 1
                    continue
                wrong, decoders = verdict
                asked += decoders
                if wrong:
                    failed += 1
                    print('FAILED', '; '.join(wrong), f"\n  echo '{line}' | fate_tests/interop/matrix.sh {BUILD} -", flush=True)
                elif decoders < 2:  # the encoder's warning or decoders.KNOWN says why
                    lone += 1
                else:
                    passed += 1
    print(f'{passed + failed} streams and {lone} that only one decoder reads well were read {asked} times; '
          f'{refused} combinations were refused, each in one line')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
