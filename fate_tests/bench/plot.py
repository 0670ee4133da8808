#!/usr/bin/env python3
"""Plots of what cudaenc_bench measured: shares of the stages, frames/s against frames in flight and against bits per pixel.

Usage: plot.py FOLDER RESULTS.json...   The files' rows are put together; a plot without data is left out. Writes
FOLDER/stages.png, in-flight.png, bits-per-pixel.png. SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import os
import sys

try:
    import matplotlib
except ImportError:
    print('no plots: python3-matplotlib is not here')
    sys.exit(0)
matplotlib.use('Agg')
import matplotlib.pyplot as plt


def read_rows(files):
    rows = []
    for path in files:
        with open(path, encoding='utf-8') as file:
            results = json.load(file)
        rows += [dict(row, device=results['device']) for row in results['rows'] if 'stages' in row]
    return rows


def nvjpeg2000(row):
    return next((peer for peer in row.get('peers', []) if peer['name'].startswith('nvJPEG2000')), None)


def title(row):
    device = row['device'].removeprefix('cuda:0 ').split(',')[0]
    return f'{os.path.splitext(row["picture"])[0]}, {device}'


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


def main():
    folder, *files = sys.argv[1:]
    rows = read_rows(files)
    if not rows:
        print('no plots: no rates in', *files)
        return
    plot_stages(rows, folder)
    plot_in_flight(rows, folder)
    plot_bits_per_pixel(rows, folder)


if __name__ == '__main__':
    main()
