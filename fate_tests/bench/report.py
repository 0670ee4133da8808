#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the tables of docs/benchmarks.md and README.md from the results of run.sh.

Usage: report.py [--keep] RESULTS FILE...   RESULTS: the output folder of run.sh. In each FILE, what stands between a line
"<!-- table NAME -->" and the next "<!-- end -->" becomes the table NAME. All parts must be of one commit and one device.
--keep: tables of parts that are not in RESULTS stay, and the table of sets gets a row more.
"""
import glob
import json
import os
import re
import sys

NOT_MEASURED = 'Not measured in this set.'


# ---- Results

class Results:
    """What run.sh left in a folder. A part counts where it ended well: then its PART.run.json is there."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = {}
        for path in sorted(glob.glob(os.path.join(folder, '*.run.json'))):
            run = read_json(path)
            self.runs[run['part']] = run
        if not self.runs:
            raise SystemExit(f'report.py: no results of run.sh in {folder}')
        self.commit = self.only('commit', {run['commit'] for run in self.runs.values()})
        # The CPU's parts have no other device; all others must have the same one.
        heads = [head for head in (read_json(path) for path in self.paths('*.json')) if 'program' in head]
        self.heads = [head for head in heads if head['device'] != 'cpu'] or heads
        for key in ('device', 'driver'):
            self.only(key, {head[key].split(',')[0] for head in self.heads} or {''})

    def only(self, what, values):
        if len(values) != 1:
            raise SystemExit(f'report.py: results of more than one {what} in {self.folder}: {", ".join(sorted(values))}')
        return next(iter(values))

    def paths(self, pattern):
        return sorted(path for path in glob.glob(os.path.join(self.folder, pattern)) if not path.endswith('.run.json'))

    def rows(self, part, pattern):
        """Of a part's files; those of cudaenc_bench have the command, too. Empty: not measured."""
        if part not in self.runs:
            return []
        found = []
        for path in self.paths(pattern):
            if path.endswith('.jsonl'):
                with open(path, encoding='utf-8') as file:
                    found += [json.loads(line) for line in file]
            else:
                results = read_json(path)
                found += [dict(row, command=results['command']) for row in results['rows']]
        return found


def read_json(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


# ---- Text

def table(head, rows):
    return '\n'.join('| ' + ' | '.join(cells) + ' |' for cells in [head, ['---'] * len(head), *rows])


def number(x):
    """A rate, with three digits at least."""
    return f'{x:.0f}' if x >= 1000 else f'{x:.4g}' if x >= 100 else f'{x:.3g}'


def ms(x):
    return f'{x:.4f}' if x < 0.1 else f'{x:.3f}' if x < 10 else f'{x:.1f}'


def times(x):
    return f'{x:.2f}' if x < 10 else f'{x:.1f}'


def psnr(x):
    return f'{x:.3f}' if isinstance(x, (int, float)) else '–'


def stem(name):
    """'2-forest.png' of a bundle is forest."""
    return re.sub(r'^\d+-', '', os.path.splitext(name)[0])


def spread(s):
    return f'{number(s["median"])} ({number(s["min"])} .. {number(s["max"])})'


def best(row):
    """The fastest number of frames in flight (of a peer: of threads)."""
    return max(row['multi'], key=lambda multi: multi['fps']['median'])


def in_flight(multi):
    return f'{multi["sessions"]}x{multi["depth"]}' if 'sessions' in multi else str(multi['depth'])


def single(row):
    return row['single_ms']['median']


def peer_of(row, name):
    return next((peer for peer in row.get('peers', []) if peer['name'].startswith(name)), None)


def option(row, name):
    words = row['command'].split()
    return words[words.index(name) + 1]


def unique(values):
    return list(dict.fromkeys(values))


# ---- Tables: each takes Results, and returns text, or '' where nothing of it was measured

def set_table(results):
    head = results.heads[0] if results.heads else {'device': '–', 'driver': ''}
    # FFmpeg's and others' parts have no heads.
    processors = ', '.join(unique(head['cpu'] for head in results.heads or results.runs.values() if 'cpu' in head)) or '–'
    dates = sorted({run['date'] for run in results.runs.values()})
    commands = unique(run['command'] for run in results.runs.values())
    return table(['date', 'device', 'driver', 'CPU', 'commit', 'command'],
                 [[' to '.join(unique([dates[0], dates[-1]])), re.sub(r'^cuda:\d+ ', '', head['device']), head['driver'] or '–', processors,
                   f'`{results.commit}`', '<br>'.join(f'`{command}`' for command in commands)]])


def rates_table(rows, peer_name):
    beside = any(peer_of(row, peer_name) for row in rows)
    def cells(row):
        fastest, peer = best(row), peer_of(row, peer_name)
        quality = f', quality {row["quality"]}' if row['quality'] else ''
        own = [stem(row['picture']), row['case'] + quality, f'{row["first_frame_bytes"]:,}', psnr(row.get('psnr_db')), ms(single(row)),
               spread(fastest['fps']), in_flight(fastest)]
        if not peer:
            return own + ['–'] * 3 * beside
        return own + [ms(single(peer)), spread(best(peer)['fps']), f'{times(peer["cudaenc_single_times"])} / {times(peer["cudaenc_multi_times"])}']
    return rows and table(['picture', 'case', 'bytes', 'PSNR, dB', 'single, ms', 'frames/s (least .. most)', 'in flight'] +
                          [f'{peer_name}: single, ms', 'frames/s', 'times as fast: single / many'] * beside, map(cells, rows))


def rates(results):
    return rates_table(results.rows('rates', 'rates.json'), 'nvJPEG2000')


def equal_bytes(results, part='rates'):
    rows = [(row, peer_of(row, 'nvJPEG2000')) for row in results.rows(part, part + '.json') if row['wavelet'] == '9/7']
    rows = [(row, {stream['asked_by']: stream['psnr_db'] for stream in peer['first_frame'] if 'psnr_db' in stream}) for row, peer in rows if peer]
    ways = unique(way for _, streams in rows for way in streams)
    return rows and table(['picture', 'case', 'bytes', 'cudaenc'] + [f'nvJPEG2000, {way}' for way in ways],
                          [[stem(row['picture']), row['case'], f'{row["first_frame_bytes"]:,}', psnr(row.get('psnr_db'))] +
                           [psnr(streams.get(way)) for way in ways] for row, streams in rows])


def of_first_picture(rows):
    return [row for row in rows if row['picture'] == rows[0]['picture']]


def in_flight_table(rows):
    numbers = unique(in_flight(multi) for row in rows for multi in row['multi'])
    def cells(row):
        found = {in_flight(multi): number(multi['fps']['median']) for multi in row['multi']}
        return [row['case'], number(row['single_fps'])] + [found.get(n, '–') for n in numbers]
    return rows and table(['case', '1'] + numbers, map(cells, rows))


def stages_table(rows):
    names = unique(stage['name'] for row in rows for stage in row['stages'])
    def cell(row, name):
        found = [stage for stage in row['stages'] if stage['name'] == name]
        return f'{found[0]["ms"]:.3f} ({found[0]["percent"]:.1f} %)' if found else '–'
    return names and table(['stage, ms (share)'] + [row['case'] for row in rows], [[name] + [cell(row, name) for row in rows] for name in names])


def formats(results):
    def cells(row):
        fastest = best(row)
        return [row['case'], f'{row["first_frame_bytes"]:,}', f'{row["bits_per_pixel"]:.3f}', str(row['quality'] or '–'), ms(single(row)),
                spread(fastest['fps']), in_flight(fastest)]
    rows = results.rows('formats', 'formats.json')
    return rows and table(['case', 'bytes', 'bits/pixel', 'quality', 'single, ms', 'frames/s (least .. most)', 'in flight'], map(cells, rows))


def sweep(results):
    rows = results.rows('sweep', 'sweep.json')
    return rows and table(['quality'] + [str(row['quality']) for row in rows], sweep_rows(rows))


def sweep_rows(rows):
    return [['bits/pixel'] + [f'{row["bits_per_pixel"]:.2f}' for row in rows],
            ['PSNR of the first frame, dB'] + [psnr(row.get('psnr_db')) for row in rows],
            ['frames/s, single'] + [number(row['single_fps']) for row in rows],
            ['frames/s, many'] + [number(row['best_fps']) for row in rows]]


def nvjpeg2000_rows(rows):
    """nvJPEG2000 beside each of the rows, where it is beside all; its PSNR by the first way to ask for the bytes.
    Its rates and sizes are of that, the Q-factor, which does not reach all sizes."""
    peers = [peer_of(row, 'nvJPEG2000') for row in rows]
    return [dict(peer, psnr_db=next((stream.get('psnr_db') for stream in peer['first_frame']), None)) for peer in peers] if all(peers) else []


def ht_sweep(results):
    rows = results.rows('ht_sweep', 'ht_sweep.json')
    coders = ('HT', rows), ('MQ', results.rows('ht_sweep', 'ht_sweep_mq.json')), ("nvJPEG2000's HT", nvjpeg2000_rows(rows))
    return rows and table(['quality'] + [str(row['quality']) for row in rows],
                          [[f'{coder}: {cells[0]}'] + cells[1:] for coder, of in coders if of for cells in sweep_rows(of)])


def rates_of(row):
    return f'{number(row["single_fps"])} / {number(row["best_fps"])}'


def rates_with_spread(row):
    return f'{number(row["single_fps"])} / {spread(best(row)["fps"])}'


def share(row, of):
    """Of the rates of another row, %."""
    return f'{100 * row["single_fps"] / of["single_fps"]:.0f} / {100 * row["best_fps"] / of["best_fps"]:.0f}'


def targets(results):
    free = {(row['style'], row['case']): row for file in ('bypass-none.json', 'bypass.json') for row in results.rows('bypass', file)}
    found = {}
    for row in results.rows('targets', 'targets-*.json') + results.rows('targets', 'targets_bypass-*.json'):
        found.setdefault((row['style'], row['case']), {})[option(row, '-rate_control')] = row
    methods = unique(method for of in found.values() for method in of)
    def cells(key, of):
        base, some = free.get(key), next(iter(of.values()))
        row = [stem(some['picture']), key[1], key[0] or 'none', f'{some["frame_bytes"]:,}', rates_with_spread(base) if base else '–']
        for method in methods:
            row += [rates_with_spread(of[method]) if method in of else '–', share(of[method], base) if method in of and base else '–']
        return row
    return found and table(['pictures', 'case', 'style', 'target, bytes', 'no target: single / many (least .. most)'] +
                           [text for method in methods for text in (method, 'of it, %')], [cells(key, of) for key, of in found.items()])


def ht_targets(results):
    free = {(row['picture'], row['case']): row for row in results.rows('ht', 'ht.json')}
    mq = {(row['picture'], row['case']): row for row in results.rows('ht_targets', 'ht_targets_mq-*.json')}
    def cells(row):
        key = row['picture'], row['case']
        base, other = free.get(key), mq[key]
        return [stem(row['picture']), row['case'], f'{row["frame_bytes"]:,}', rates_of(base) if base else '–', rates_of(row),
                share(row, base) if base else '–', psnr(row.get('psnr_db')), rates_of(other), psnr(other.get('psnr_db'))]
    rows = results.rows('ht_targets', 'ht_targets-*.json')
    return rows and table(['picture', 'case', 'target, bytes', 'HT, no target: single / many', 'HT, psp', 'of it, %', 'PSNR, dB', 'MQ, psp', 'PSNR, dB'],
                          map(cells, rows))


def bypass(results):
    plain = {row['case']: row for row in results.rows('bypass', 'bypass-none.json')}
    rows = [(plain[row['case']], row) for row in results.rows('bypass', 'bypass.json')]
    return rows and table(['pictures', 'case', 'bytes', 'no style: single / many (least .. most)', 'bypass', 'times as fast: single / many', 'times as many bytes'],
                          [[stem(row['picture']), row['case'], f'{row["bytes_per_frame"]:,.0f}', rates_with_spread(base), rates_with_spread(row),
                            f'{row["single_fps"] / base["single_fps"]:.2f} / {row["best_fps"] / base["best_fps"]:.2f}',
                            f'{row["bytes_per_frame"] / base["bytes_per_frame"]:.3f}'] for base, row in rows])


def decoding_rate(row, decoders, alone=False):
    """Pictures/s of the fastest of these decoders; 0: not measured."""
    return max((r['fps']['median'] for r in row['rates'] if r['decoder'] in decoders and (not alone or r['in_flight'] == '1x1')), default=0)


NVJPEG_DECODERS = ['nvjpeg', 'hybrid', 'gpu', 'hardware']


def decoding_rows(results):
    return sorted(results.rows('decode', 'decode-mjpeg-*.json'), key=lambda row: (row['case'], row['restart']))


def decoding_headline(results):
    """The row that the headline and the plot of speed have: without restart markers, beside nvJPEG."""
    return [row for row in decoding_rows(results)
            if row['case'] == 'mjpeg-4k-420' and not row['restart'] and decoding_rate(row, NVJPEG_DECODERS)]


def decode(results):
    """JPEG decoding: NVIDIA's library one at a time and at its best, on its CUDA cores and on its hardware; libjpeg-turbo on all cores."""
    def cells(row):
        fastest = max((r for r in row['rates'] if r['decoder'] == 'cudaenc'), key=lambda r: r['fps']['median'])
        alone = decoding_rate(row, ['cudaenc'], alone=True)
        peers = [decoding_rate(row, ['nvjpeg'], alone=True)] + [decoding_rate(row, [of]) for of in ('hybrid', 'gpu', 'hardware', 'libjpeg-turbo')]
        faster = f'{times(alone / peers[0])} / {times(fastest["fps"]["median"] / decoding_rate(row, NVJPEG_DECODERS))}' if peers[0] else '–'
        return [row['case'] + (f', restart markers each {row["restart"]} MCUs' if row['restart'] else ''), str(row['quality']), f'{row["bytes"]:,.0f}', number(alone), spread(fastest['fps']), fastest['in_flight'],
                *[number(peer) if peer else '–' for peer in peers], faster]
    rows = decoding_rows(results)
    return rows and table(['case', 'quality', 'bytes', 'pictures/s, single', 'many (least .. most)', 'in flight', 'nvJPEG: single', 'hybrid, best', 'CUDA, best',
                           'hardware, best', 'libjpeg-turbo, all cores', 'times as fast as nvJPEG: single / many'], map(cells, rows))


def decoding_j2k_rows(results):
    return [row for suffix in ('', '-ht', '-region', '-lowres') for row in results.rows('decode_j2k', f'decode-j2k{suffix}.json')]


def decode_j2k(results):
    """JPEG 2000 decoding: nvJPEG2000 on one thread and at its best."""
    def cells(row):
        what = [row['case'], row['style']] + [f'{text} {row[key]}' for key, text in (('tile', 'tiles of'), ('region', 'region'), ('lowres', 'lowres')) if row[key]]
        fastest = max((r for r in row['rates'] if r['decoder'] == 'cudaenc'), key=lambda r: r['fps']['median'])
        alone, peer, best = decoding_rate(row, ['cudaenc'], alone=True), decoding_rate(row, ['nvjpeg2k'], alone=True), decoding_rate(row, ['nvjpeg2k'])
        return [', '.join(filter(None, what)), f'{row["width"]}x{row["height"]}', f'{row["bytes"]:,.0f}', number(alone), spread(fastest['fps']), fastest['in_flight'],
                *[number(rate) if rate else '–' for rate in (peer, best)], f'{times(alone / peer)} / {times(fastest["fps"]["median"] / best)}' if peer else '–']
    rows = decoding_j2k_rows(results)
    return rows and table(['case', 'size', 'bytes', 'pictures/s, single', 'many (least .. most)', 'in flight', 'nvJPEG2000: single', 'best',
                           'times as fast: single / many'], map(cells, rows))


def sweep_of_decoding(rows, what, name):
    """A line for each of `rows`; name(row) is its cell under `what`."""
    def cells(row):
        own, theirs = (decoding_rate(row, ['cudaenc'], alone=True), decoding_rate(row, ['cudaenc'])), (
            decoding_rate(row, ['nvjpeg'], alone=True), decoding_rate(row, NVJPEG_DECODERS))
        return [name(row), f'{row["bytes"]:,.0f}', *map(number, own), f'{own[1] * row["width"] * row["height"] / 1e9:.2f}',
                *[number(rate) if rate else '–' for rate in theirs], f'{times(own[0] / theirs[0])} / {times(own[1] / theirs[1])}' if theirs[0] else '–']
    return rows and table([what, 'bytes', 'pictures/s, single', 'many', 'gigapixels/s', 'nvJPEG: single', 'best', 'times as fast: single / many'],
                          map(cells, rows))


def decoding_qualities(results):
    return results.rows('decode_sweep', 'decode-qualities.json')


def decoding_sizes(results):
    return results.rows('decode_sweep', 'decode-sizes-*.json')


def decode_qualities(results):
    return sweep_of_decoding(decoding_qualities(results), 'quality', lambda row: str(row['quality']))


def decode_sizes(results):
    return sweep_of_decoding(decoding_sizes(results), 'size', lambda row: f'{row["width"]}x{row["height"]}')


def decode_ffmpeg(results):
    rows = results.rows('decode', 'decode.jsonl')
    return rows and table(['decoder', 'on', 'threads', 'in flight', 'bytes', 'pictures/s'],
                          [[row['decoder'], row['device'], str(row['threads']), str(row['depth']), f'{row["bytes"]:,}', number(row['fps'])] for row in rows])


def memory(results):
    def cells(row):
        most = '; '.join(f'{b["count"]} x {b["bytes"] / 2**20:.1f}' for b in row['device'][:6])
        return [row['case'], str(row['async_depth']), f'{row["allocated_mib"]:.1f}', most, f'{row["in_use_mib"]:.0f}' if 'in_use_mib' in row else '–']
    rows = results.rows('memory', 'memory.json')
    return rows and table(['case', 'frames in flight', 'allocated, MiB', 'largest buffers: number x MiB', 'by the driver, MiB'], map(cells, rows))


def endurance(results):
    def cells(row):
        first, last = row['memory'][0], row['memory'][-1]
        return [row['case'], f'{row["width"]}x{row["height"]}', f'{first["frames"]:,}', f'{first["resident_mib"]:.2f}',
                f'{last["frames"]:,}', f'{last["resident_mib"]:.2f}']
    rows = results.rows('memory', 'endurance-*.json')
    return rows and table(['case', 'size', 'after frames', 'resident, MiB', 'after frames', 'resident, MiB'], map(cells, rows))


def cavlc(results):
    rows = results.rows('cavlc', 'cavlc.json')
    return rows and table(['size', 'QP', 'CAVLC_SU, ms', 'cudaenc, ms', 'times as fast', 'moved, MB', 'GB/s'],
                          [[f'{row["width"]}x{row["height"]}', str(row['qp']), ms(row['cavlc_su_ms']['median']), ms(row['cudaenc_ms']['median']),
                            times(row['times_as_fast']), f'{row["moved_bytes"] / 1e6:.1f}', number(row['bytes_per_second'] / 1e9)] for row in rows])


def chain(results):
    def cells(row):
        slower = min(row['nvdec_fps'], row['encoder_fps'])
        return [row['clip'], row['coder'], row['muxer'] or 'no file', str(row['queues']), str(row['depth']), number(row['nvdec_fps']),
                number(row['encoder_fps']), number(row['chain_fps']), f'{100 * row["chain_fps"] / slower:.0f} %' if slower else '–',
                f'{row["bytes"]:,}' if row['bytes'] else '–']
    rows = results.rows('chain', 'chain.jsonl')
    return rows and table(['clip', 'encoder', 'to', 'queues', 'in flight', 'decoder alone', 'encoder alone', 'both, frames/s', 'of the slower',
                           'bytes a frame'], map(cells, rows))


def h264(results):
    rows = results.rows('h264', 'h264.jsonl')
    return rows and table(['clip', 'threads', 'QP', 'ms a frame', 'frames/s', 'ms of processors'],
                          [[row['clip'], str(row['threads']), str(row['qp']), ms(row['ms']), number(1e3 / row['ms']), ms(row['cpu_ms'])]
                           for row in rows])


def h264_effort_0(results):
    rows = results.rows('h264_effort_0', 'h264_effort_0.json')
    peers = unique(row['encoder'] for row in rows if 'fps_alone' not in row)
    fewest = min((row['slices'] for row in rows if 'slices' in row), default=1)  # peers stand beside these alone
    rate = {(row['encoder'], row['size'], row['qp']): f'{number(row["fps"])} ({row["bits_per_pixel"]:.3f})' for row in rows}
    return rows and table(['size', 'QP', 'slices', 'bits/pixel', 'frames/s, single', 'many', 'in flight'] +
                          [f'{peer}: frames/s (bits/pixel)' for peer in peers],
                          [[row['size'], str(row['qp']), str(row['slices']), f'{row["bits_per_pixel"]:.3f}', number(row['fps_alone']), number(row['fps']), row['in_flight']] +
                           [rate.get((peer, row['size'], row['qp']), '–') if row['slices'] == fewest else '' for peer in peers] for row in rows if 'fps_alone' in row])


def cpu(results):
    def cells(row):
        peer = peer_of(row, 'OpenJPEG')
        theirs = [ms(single(peer)), psnr(peer.get('psnr_db')), times(peer['cudaenc_single_times'])] if peer else ['–'] * 3
        return [row['case'], str(row['threads']), f'{row["first_frame_bytes"]:,}', psnr(row.get('psnr_db')), ms(single(row)), number(row['best_fps'])] + theirs
    rows = results.rows('cpu', 'cpu.json')
    return rows and table(['case', 'threads', 'bytes', 'PSNR, dB', 'single, ms', 'frames/s, four in flight', 'OpenJPEG: single, ms', 'PSNR, dB',
                           'times as fast'], map(cells, rows))


def cpu_peers(rows):
    return rows and table(['encoder', 'case', 'threads', 'bytes', 'PSNR, dB', 'frames/s'],
                          [[row['encoder'], row['case'], str(row['threads']), f'{row["bytes"]:,}', psnr(row['psnr_db']), number(row['fps'])] for row in rows])


def headline(results):
    """Of the first picture, for README; those beside NVIDIA's libraries where these ran. Rows of several sets have the device of each."""
    device = re.sub(r'^cuda:\d+ |,.*', '', results.heads[0]['device']) if results.heads else ''
    names = {'4k-lossless': 'JPEG 2000, lossless', '4k-lossy': 'JPEG 2000, 9/7', 'mjpeg-4k-420': 'JPEG, 4:2:0, quality 90'}
    rows = of_first_picture(results.rows('rates', 'rates.json')) + results.rows('mjpeg', 'mjpeg.json')
    def cells(row):
        own = [f'{names[row["case"]]}, {row["width"]}x{row["height"]}', device, f'{row["first_frame_bytes"] / 1e6:.2f} MB', f'{ms(single(row))} ms',
               number(row['best_fps'])]
        peer = peer_of(row, 'nvJPEG')
        return own if not peer else own + [peer['name'].split()[0], number(peer['best_fps']), times(row['best_fps'] / peer['best_fps'])]
    def cells_of_decoding(row):
        peer, many = decoding_rate(row, NVJPEG_DECODERS), decoding_rate(row, ['cudaenc'])
        return [f'JPEG decoding, 4:2:0, quality {row["quality"]}, {row["width"]}x{row["height"]}', device, f'{row["bytes"] / 1e6:.2f} MB',
                f'{ms(1000 / decoding_rate(row, ["cudaenc"], alone=True))} ms', number(many), 'nvJPEG', number(peer), times(many / peer)]
    rows = [row for row in rows if row['case'] in names]
    beside = [row for row in rows if peer_of(row, 'nvJPEG')]
    rows = beside or rows
    decoding = decoding_headline(results)
    beside = beside or not rows
    if not rows and not decoding:
        return ''
    return table(['case', 'on one', 'a frame', 'a frame alone', 'frames/s'] +
                 ["NVIDIA's library", 'frames/s', 'times as fast'] * bool(beside), [*map(cells, rows), *map(cells_of_decoding, decoding if beside else [])])


TABLES = {
    'set': set_table,
    'headline': headline,
    'rates': rates,
    'equal-bytes': equal_bytes,
    'in-flight': lambda results: in_flight_table(of_first_picture(results.rows('rates', 'rates.json'))),
    'stages': lambda results: stages_table(of_first_picture(results.rows('rates', 'rates.json'))),
    'targets': targets,
    'bypass': bypass,
    'ht': lambda results: rates_table(results.rows('ht', 'ht.json'), 'nvJPEG2000'),
    'ht-equal-bytes': lambda results: equal_bytes(results, 'ht'),
    'ht-targets': ht_targets,
    'formats': formats,
    'sweep': sweep,
    'ht-sweep': ht_sweep,
    'mjpeg': lambda results: rates_table(results.rows('mjpeg', 'mjpeg.json'), 'nvJPEG'),
    'mjpeg-in-flight': lambda results: in_flight_table(results.rows('mjpeg', 'mjpeg.json')),
    'mjpeg-stages': lambda results: stages_table(results.rows('mjpeg', 'mjpeg.json')),
    'decode': decode,
    'decode-qualities': decode_qualities,
    'decode-sizes': decode_sizes,
    'decode-ffmpeg': decode_ffmpeg,
    'decode-j2k': decode_j2k,
    'memory': memory,
    'endurance': endurance,
    'cavlc': cavlc,
    'chain': chain,
    'h264': h264,
    'h264-effort-0': h264_effort_0,
    'cpu': cpu,
    'cpu-ffmpeg': lambda results: cpu_peers(results.rows('cpu', 'cpu_peers_j2k.jsonl')),
    'cpu-ht': lambda results: cpu_peers(results.rows('cpu_ht', 'cpu_peers_ht.jsonl')),
    'cpu-mjpeg': lambda results: cpu_peers(results.rows('cpu_mjpeg', 'cpu_peers_mjpeg.jsonl')),
}

# What plot.py draws of a table.
PLOTS = {
    'headline': '![frames/s](docs/speed.svg)',
    'in-flight': '![frames/s against frames in flight](in-flight.png)',
    'stages': '![shares of the stages](stages.png)',
    'sweep': '![frames/s against bits per pixel](bits-per-pixel.png)',
    'ht-sweep': '![frames/s and PSNR of both block coders against bits per pixel](ht-bits-per-pixel.png)',
    'decode-qualities': '![pictures/s against bytes](decode-bytes.png)',
    'decode-sizes': '![pictures/s against size](decode-sizes.png)',
}


def merged(name, old, new):
    """The rows of a table that stays, and those that are measured anew: sets of results follow each other; of headline and decoding
    the rows with equal names change."""
    old, new = ([line for line in text.splitlines() if line.startswith('|')] for text in (old, new))
    if name == 'set' and new[-1] not in old:
        return '\n'.join(old + new[2:])
    if name != 'set' and old[:2] == new[:2]:
        def what(line):
            return line.split('|')[1]
        return '\n'.join(next((row for row in new if what(row) == what(line)), line) for line in old)
    return '\n'.join(new if name == 'decode' else old)


def fill(text, results, path, keep=False):
    """The text with its tables of these results."""
    def replace(match):
        name = match[1]
        if name not in TABLES:
            raise SystemExit(f'report.py: {path}: no table is called {name}; they are {", ".join(TABLES)}')
        measured = TABLES[name](results)
        if keep and not measured:
            return match[0]
        if keep and name in ('set', 'headline', 'decode') and '|' in match[2]:
            measured = merged(name, match[2], measured)
        plot = f'\n\n{PLOTS[name]}' if measured and name in PLOTS else ''
        return f'<!-- table {name} -->\n\n{measured or NOT_MEASURED}{plot}\n\n<!-- end -->'
    if len(re.findall('<!-- table ', text)) != len(re.findall('<!-- end -->', text)):
        raise SystemExit(f'report.py: {path}: a table without its <!-- end -->')
    return re.sub(r'<!-- table (\S+) -->\n(.*?)<!-- end -->', replace, text, flags=re.DOTALL)


def main():
    keep = sys.argv[1:2] == ['--keep']
    arguments = sys.argv[1 + keep:]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    results = Results(arguments[0])
    for path in arguments[1:]:
        with open(path, encoding='utf-8') as file:
            text = fill(file.read(), results, path, keep)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        print('wrote the tables of', path)


if __name__ == '__main__':
    main()
