#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots of what run.sh measured: frames/s beside the peers', shares of the stages, frames/s against frames in flight and against bits
per pixel.

Usage: plot.py [--keep] FOLDER RESULTS   RESULTS: the output folder of run.sh. A plot without data is left out. --keep: so is nothing that
FOLDER/speed.svg has. Writes FOLDER/speed.svg and, where there is matplotlib, stages.png, in-flight.png, bits-per-pixel.png,
ht-bits-per-pixel.png, decode-bytes.png, decode-sizes.png.
"""
import os
import re
import sys
import xml.dom.minidom
from xml.sax.saxutils import escape

from report import NVJPEG_DECODERS, Results, decoding_headline, decoding_qualities, decoding_rate, decoding_sizes, number, nvjpeg2000_rows, peer_of, stem

try:
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
except ImportError:
    plt = None


# ---- Speed: a group a case, with a scale of its own

def speed_groups(results):
    """(title, [(name, frames/s)]), ours first."""
    device = device_name(results.heads[0]) if results.heads else ''
    titles = {'4k-lossless': 'JPEG 2000, lossless', '4k-lossy': 'JPEG 2000, 9/7', 'mjpeg-4k-420': 'JPEG, 4:2:0, quality 90'}
    groups = []
    rates = results.rows('rates', 'rates.json')
    rows = [row for row in rates if row['picture'] == rates[0]['picture']] + results.rows('mjpeg', 'mjpeg.json')
    rows = [row for row in rows if row['case'] in titles]
    for row in [row for row in rows if peer_of(row, 'nvJPEG')] or rows:
        peer = peer_of(row, 'nvJPEG')
        beside = (peer['name'].split()[0], peer['best_fps']) if peer else ('cudaenc, one frame', row['single_fps'])
        groups.append((f'{titles[row["case"]]}, {row["width"]}x{row["height"]}, {device}', [('cudaenc', row['best_fps']), beside]))
    for row in decoding_headline(results):
        groups.append((f'JPEG decoding, 4:2:0, quality {row["quality"]}, {row["width"]}x{row["height"]}, {device}',
                       [('cudaenc', decoding_rate(row, ['cudaenc'])), ('nvJPEG', decoding_rate(row, NVJPEG_DECODERS))]))
    for part, coder, cases in (('cpu', 'JPEG 2000', {'lossless': 'lossless', 'lossy': '9/7'}),
                               ('cpu_mjpeg', 'JPEG, 4:2:0', {'default': "Annex K's tables", 'optimal': 'optimal tables'})):
        rows = results.rows(part, f'cpu_peers_{"j2k" if part == "cpu" else "mjpeg"}.jsonl')
        most = max((row['threads'] for row in rows), default=0)
        for case, text in cases.items():
            bars = [(row['encoder'].replace(' in ffmpeg', '').split(',')[0], row['fps']) for row in rows
                    if row['case'] == case and row['threads'] == most and 'slices' not in row['encoder']]
            bars.sort(key=lambda bar: bar[0] != 'cudaenc')
            if len(bars) > 1:
                groups.append((f'{coder}, {text}, 1920x1080, CPU, {most} threads', bars))
    return groups


def groups_of(path):
    """What plot_speed() wrote."""
    groups = []
    for text in xml.dom.minidom.parse(path).getElementsByTagName('text') if os.path.exists(path) else []:
        words = text.firstChild.data
        if text.getAttribute('font-weight'):
            groups.append((words, []))
        elif text.getAttribute('text-anchor'):
            groups[-1][1].append((words, 0))
        else:
            groups[-1][1][-1] = (groups[-1][1][-1][0], float(words.split()[0]))
    return groups


def plot_speed(results, folder, keep):
    groups = speed_groups(results)
    if not groups:
        return
    if keep:
        # A picture's name ends where its size begins.
        new = {re.sub(r', \d+x\d+.*', '', title): (title, bars) for title, bars in groups}
        old = groups_of(os.path.join(folder, 'speed.svg'))
        groups = [new.pop(re.sub(r', \d+x\d+.*', '', title), (title, bars)) if 'CPU' not in title else (title, bars) for title, bars in old] + list(new.values())
    width, left, longest, bar, y = 760, 150, 500, 18, 0
    parts = []
    for title, bars in groups:
        y += 26
        parts.append(f'<text x="0" y="{y}" font-weight="bold">{escape(title)}</text>')
        y += 8
        most = max(fps for _, fps in bars)
        for name, fps in bars:
            colour = '#76b900' if name == 'cudaenc' else '#8a8f98'
            length = max(1, round(longest * fps / most, 1))
            parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
                         f'<rect x="{left}" y="{y}" width="{length}" height="{bar - 3}" fill="{colour}"/>'
                         f'<text x="{left + length + 6}" y="{y + 13}">{number(fps)} frames/s</text>')
            y += bar
    path = os.path.join(folder, 'speed.svg')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 8}" font-family="sans-serif" font-size="13" fill="#555">\n'
                   + '\n'.join(parts) + '\n</svg>\n')
    print('wrote', path)


# ---- Plots by matplotlib

def device_name(row):
    return row['device'].removeprefix('cuda:0 ').split(',')[0]


def nvjpeg2000(row):
    return peer_of(row, 'nvJPEG2000')


def title(row):
    return f'{stem(row["picture"])}, {device_name(row)}'


def of_first_picture(rows):
    return [row for row in rows if row['picture'] == rows[0]['picture']]


def once(rows):
    """A row a case: a sweep's others differ in quality."""
    found = {}
    for row in rows:
        found.setdefault(row['case'], row)
    return list(found.values())


def write(figure, folder, name):
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name), dpi=110)
    plt.close(figure)
    print('wrote', os.path.join(folder, name))


def plot_stages(rows, folder):
    rows = [row for row in once(of_first_picture(rows)) if row['stages']]
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(9, max(2.6, 1.2 + 0.5 * len(rows))))
    names = list(dict.fromkeys(stage['name'] for row in rows for stage in row['stages']))
    colours = plt.get_cmap('tab10')
    left = [0.0] * len(rows)
    for k, name in enumerate(names):
        shares = [next((s['percent'] for s in row['stages'] if s['name'] == name), 0) for row in rows]
        if max(shares) < 0.05:
            continue
        axes.barh(range(len(rows)), shares, left=left, label=name, color=colours(k))
        for i, share in enumerate(shares):
            if share >= 6:
                axes.text(left[i] + share / 2, i, f'{share:.0f}', ha='center', va='center', fontsize=8)
        left = [a + b for a, b in zip(left, shares)]
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([f'{row["case"]}\n{sum(s["ms"] for s in row["stages"]):.2f} ms' for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel('share of one frame, alone in flight, %')
    axes.set_title(title(rows[0]), fontsize=10)
    axes.legend(fontsize=8, loc='center left', bbox_to_anchor=(1.01, 0.5))
    write(figure, folder, 'stages.png')


def rates(entry):
    """Frames in flight (of a peer: threads) and frames/s, the single mode as one in flight."""
    points = {1: entry['single_fps']} | {multi['depth']: multi['fps']['median'] for multi in entry['multi']}
    return sorted(points), [points[depth] for depth in sorted(points)]


def plot_in_flight(rows, folder):
    rows = once(of_first_picture(rows))
    figure, axes = plt.subplots(figsize=(7.5, 5))
    for k, row in enumerate(rows):
        colour = plt.get_cmap('tab10')(k)
        axes.plot(*rates(row), 'o-', color=colour, label=row['case'])
        peer = nvjpeg2000(row)
        if peer:
            axes.plot(*rates(peer), 's--', color=colour, markersize=4, label=f'{row["case"]}, {peer["name"]}')
    axes.set_xscale('log', base=2)
    axes.set_yscale('log')
    axes.xaxis.set_major_formatter('{x:.0f}')
    axes.yaxis.set_major_formatter('{x:.0f}')
    axes.grid(True, which='both', linewidth=0.3)
    axes.set_xlabel('frames in flight (nvJPEG2000: threads, a frame each)')
    axes.set_ylabel('frames/s')
    axes.set_title(title(rows[0]), fontsize=10)
    axes.legend(fontsize=7)
    write(figure, folder, 'in-flight.png')


def plot_bits_per_pixel(rows, folder):
    """9/7 at several qualities; the lossless case at its own rate."""
    sizes = dict.fromkeys((row['picture'], row['width'], row['height']) for row in rows
                          if row['wavelet'] == '9/7' and row['depth'] == 8)
    for picture, width, height in sizes:
        of_size = [row for row in rows if (row['picture'], row['width'], row['height'], row['depth'], row['cblk'])
                   == (picture, width, height, 8, 32)]
        lossy = sorted((row for row in of_size if row['wavelet'] == '9/7'), key=lambda row: row['bits_per_pixel'])
        lossless = [row for row in of_size if row['wavelet'] == '5/3'][:1]
        if len(lossy) < 3:
            continue
        figure, axes = plt.subplots(figsize=(7.5, 5))
        for key, mark, mode in (('best_fps', 'o-', 'many frames'), ('single_fps', 's-', 'one frame')):
            for peers in (False, True):
                def points(found):
                    entries = [nvjpeg2000(row) if peers else row for row in found]
                    return ([e['bits_per_pixel'] for e in entries if e], [e[key] for e in entries if e])
                if not points(lossy)[0]:
                    continue
                name = ('nvJPEG2000' if peers else 'cudaenc') + ', ' + mode
                line, = axes.plot(*points(lossy), mark.replace('-', '--') if peers else mark, label=name + ', 9/7')
                axes.plot(*points(lossless), '*', markersize=11, color=line.get_color())
        axes.plot([], [], 'k*', label='5/3, lossless')
        axes.set_yscale('log')
        axes.yaxis.set_major_formatter('{x:.0f}')
        axes.set_ylim(bottom=axes.get_ylim()[0] / 1.5)
        axes.grid(True, which='both', linewidth=0.3)
        axes.set_xlabel('bits per pixel')
        axes.set_ylabel('frames/s')
        axes.set_title(f'{title(lossy[0])}, {width}x{height} RGB', fontsize=10)
        axes.legend(fontsize=8)
        write(figure, folder, 'bits-per-pixel.png')
        return


def plot_block_coders(mq, ht, folder):
    """9/7 at several qualities: frames/s and the first frame's PSNR of Part 1's block coder, of HT's and of nvJPEG2000's HT coder."""
    if not ht:
        return
    figure, (speed, quality) = plt.subplots(1, 2, figsize=(10, 4.5))
    for k, (rows, name) in enumerate(((mq, 'MQ coder'), (ht, 'HT coder'), (nvjpeg2000_rows(ht), 'nvJPEG2000, HT coder'))):
        rows = sorted(rows, key=lambda row: row['bits_per_pixel'])
        colour = plt.get_cmap('tab10')(k)
        for key, mark, mode in (('best_fps', 'o-', 'many frames'), ('single_fps', 's--', 'one frame')):
            if rows:
                speed.plot([row['bits_per_pixel'] for row in rows], [row[key] for row in rows], mark, color=colour, markersize=4, label=f'{name}, {mode}')
        known = [row for row in rows if row.get('psnr_db')]
        if known:
            quality.plot([row['bits_per_pixel'] for row in known], [row['psnr_db'] for row in known], 'o-', color=colour, markersize=4, label=name)
    speed.set_yscale('log')
    speed.yaxis.set_major_formatter('{x:.0f}')
    speed.yaxis.set_minor_formatter('{x:.0f}')
    for axes, of in ((speed, 'frames/s'), (quality, 'PSNR of the first frame, dB')):
        axes.grid(True, which='both', linewidth=0.3)
        axes.set_xlabel('bits per pixel')
        axes.set_ylabel(of)
        axes.legend(fontsize=8)
    figure.suptitle(f'{title(ht[0])}, {ht[0]["width"]}x{ht[0]["height"]} RGB, 9/7', fontsize=10)
    write(figure, folder, 'ht-bits-per-pixel.png')


def plot_decoding(rows, folder, name, across, label, logarithmic):
    """across(row): where it lies; label(row): what stands beside the best rate of it."""
    rows = sorted(rows, key=across)
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(7.5, 5))
    for decoders, text, mark, alone in ((['cudaenc'], 'cudaenc, many', 'o-', False), (['cudaenc'], 'cudaenc, one', 's-', True),
                                        (NVJPEG_DECODERS, 'nvJPEG, best', 'o--', False), (['nvjpeg'], 'nvJPEG, one', 's--', True)):
        points = [(across(row), decoding_rate(row, decoders, alone)) for row in rows]
        points = [point for point in points if point[1]]
        if points:
            axes.plot(*zip(*points), mark, markersize=4, color='#76b900' if decoders == ['cudaenc'] else '#8a8f98', label=text)
    for row in rows:
        axes.annotate(label(row), (across(row), decoding_rate(row, ['cudaenc'])), textcoords='offset points', xytext=(0, 6), ha='center', fontsize=7)
    axes.set_yscale('log')
    if logarithmic:
        axes.set_xscale('log')
    axes.yaxis.set_major_formatter('{x:.0f}')
    axes.grid(True, which='both', linewidth=0.3)
    axes.set_xlabel('samples of luma' if logarithmic else 'MB a picture')
    axes.set_ylabel('pictures/s')
    axes.set_title(f'JPEG decoding, 4:2:0, {device_name(rows[0])}', fontsize=10)
    axes.legend(fontsize=8, loc='center left', bbox_to_anchor=(1.01, 0.5))
    write(figure, folder, name)


def main():
    keep = sys.argv[1:2] == ['--keep']
    folder, results = sys.argv[1 + keep], Results(sys.argv[2 + keep])
    plot_speed(results, folder, keep)
    if not plt:
        print('no other plots: python3-matplotlib is not here')
        return
    def measured(*parts):
        return [dict(row, device=results.heads[0]['device']) for part in parts for row in results.rows(part, part + '.json')]
    def with_device(rows):
        return [dict(row, device=results.heads[0]['device']) for row in rows]
    plot_decoding(with_device(decoding_qualities(results)), folder, 'decode-bytes.png', lambda row: row['bytes'] / 1e6,
                  lambda row: f'quality {row["quality"]}', False)
    plot_decoding(with_device(decoding_sizes(results)), folder, 'decode-sizes.png', lambda row: row['width'] * row['height'],
                  lambda row: f'{row["width"]}x{row["height"]}', True)
    plot_block_coders(with_device(results.rows('ht_sweep', 'ht_sweep_mq.json')), measured('ht_sweep'), folder)
    rows = measured('rates', 'formats', 'sweep')
    if not rows:
        print('no other plots: no rates in', sys.argv[2])
        return
    plot_stages(rows, folder)
    if measured('rates'):
        plot_in_flight(measured('rates'), folder)
    plot_bits_per_pixel(rows, folder)


if __name__ == '__main__':
    main()
