#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the ladder of docs/recipes.md: PSNR, SSIM and VMAF against bits per pixel, a column a picture.

Usage: ladder_plot.py PAGE IMAGE.png   needs matplotlib.
"""
import collections
import pathlib
import re
import sys

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt

MEASURES = ('PSNR, dB', 'SSIM', 'VMAF')
ROW = re.compile(r'^\| (?P<picture>[^|]+) \| (?P<codec>[^|]+) \| (?P<quality>\d+) \| (?P<values>[\d. |]+) \|$', re.M)


def curves(page):
    """{picture: {codec: [(quality, bits/pixel, PSNR, SSIM, VMAF)]}} of the page's table."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in ROW.finditer(page):
        values = [float(value) for value in row['values'].split('|')]
        if len(values) == 1 + len(MEASURES):
            found[row['picture']][row['codec']].append((int(row['quality']), *values))
    return found


def main():
    page, image = sys.argv[1:]
    found = curves(pathlib.Path(page).read_text(encoding='utf-8'))
    if not found:
        sys.exit(f'{page}: no table of a ladder')
    figure, axes = plt.subplots(len(MEASURES), len(found), figsize=(4 * len(found), 8), layout='constrained', squeeze=False)
    for column, (picture, codecs) in zip(axes.T, found.items()):
        column[0].set_title(picture)
        column[-1].set_xlabel('bits per pixel')
        for i, (axis, measure) in enumerate(zip(column, MEASURES)):
            for codec, points in codecs.items():
                x, y = [p[1] for p in points], [p[2 + i] for p in points]
                line, = axis.plot(x, y, 'o-', markersize=3, label=codec)
                for quality, *rest in points if i == 0 else []:
                    axis.annotate(quality, (rest[0], rest[1]), fontsize=6, color=line.get_color(), xytext=(2, -7), textcoords='offset points')
            axis.set_xscale('log')
            axis.set_xticks([0.25, 0.5, 1, 2, 4, 8], ['1/4', '1/2', '1', '2', '4', '8'])
            axis.minorticks_off()
            axis.set_xlim(0.17, 9.5)
            axis.set_ylabel(measure)
            axis.grid(True, which='both', linewidth=0.3)
    axes[0][0].legend(fontsize=8)
    figure.savefig(image, dpi=80)


if __name__ == '__main__':
    main()
