#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether report.py and plot.py render what run.sh measures: a set of tiny results, made here, without a GPU.

Usage: test_report.py FOLDER_OF_PROGRAMS [FFMPEG]   FFMPEG: for the parts that need one. Ends in "N passed, N failed".
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

import plot
import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
passed = failed = 0


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print('FAILED:', what)


def measure(programs, out, parts, device, effort, **environment):
    command = [os.path.join(HERE, 'run.sh'), programs, out, *parts]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, 'PICTURES': '', 'CLIPS': '', 'DEVICE': device, 'EFFORT': effort, **environment})
    check(done.returncode == 0, f'run.sh {" ".join(parts)}: {done.stdout[-2000:]}{done.stderr[-2000:]}')


def render(results, text, *options):
    with tempfile.NamedTemporaryFile('w+', suffix='.md', encoding='utf-8') as file:
        file.write(text)
        file.flush()
        done = subprocess.run([os.path.join(HERE, 'report.py'), *options, results, file.name], capture_output=True, text=True)
        with open(file.name, encoding='utf-8') as written:
            return done.returncode, done.stderr, written.read()


def marked(*names):
    return '\n'.join(f'## {name}\n<!-- table {name} -->\n<!-- end -->\n' for name in names)


def tables_of(text):
    """The cells of each table, without its head."""
    found = {}
    for name, body in re.findall(r'<!-- table (\S+) -->\n(.*?)<!-- end -->', text, re.DOTALL):
        lines = [line for line in body.splitlines() if line.startswith('|')]
        found[name] = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines[2:]]
    return found


def rows_of(out, file):
    return report.read_json(os.path.join(out, file))['rows']


def add_peers(out):
    """NVIDIA's library, as a GPU's results have it: a fifth as fast."""
    for file in 'rates.json', 'ht.json', 'ht_sweep.json':
        path = os.path.join(out, file)
        rates = report.read_json(path)
        for row in rates['rows']:
            peer = {key: row[key] for key in ('bits_per_pixel', 'single_ms', 'single_fps', 'multi')}
            ways = [{'asked_by': way, 'psnr_db': row['psnr_db'] + (k if 'sweep' in file else -k)} for k, way in enumerate(('Q-factor', 'target PSNR'))] if 'psnr_db' in row else []
            row['peers'] = [dict(peer, name='nvJPEG2000 0', best_fps=row['best_fps'] / 5, cudaenc_single_times=1, cudaenc_multi_times=5, first_frame=ways)]
        with open(path, 'w', encoding='utf-8') as stream:
            json.dump(rates, stream)


def check_numbers(out, tables):
    """Cells of each part, worked out once more from its files."""
    for name, file in (('rates', 'rates.json'), ('ht', 'ht.json'), ('mjpeg', 'mjpeg.json')):
        for cells, row in zip(tables[name], rows_of(out, file), strict=True):
            check(cells[1].startswith(row['case']) and cells[2] == f'{row["first_frame_bytes"]:,}', f'{name}: {cells}')
            check(float(cells[4]) == float(f'{row["single_ms"]["median"]:.{4 if row["single_ms"]["median"] < 0.1 else 3}f}'), f'{name}: {cells}')
            check(abs(float(cells[5].split()[0]) / row['best_fps'] - 1) < 0.006, f'{name}: {cells}')
    free = {row['case']: row for row in rows_of(out, 'rates.json')}
    bypass, plain = ({row['case']: row for row in rows_of(out, file)} for file in ('bypass.json', 'bypass-none.json'))
    for cells in tables['targets']:
        base = (plain if cells[2] == 'none' else bypass)[cells[1]]
        check(int(cells[3].replace(',', '')) == round(base['bytes_per_frame']), f'targets: {cells}')
        shares = [float(x) for x in cells[6].split('/')]
        rate = float(cells[5].split()[2])
        check(abs(rate / base['best_fps'] * 100 - shares[1]) < 1, f'targets: {cells}')
    check([(cells[1], cells[2]) for cells in tables['targets']] == [(case, style) for style in ('none', 'bypass') for case in ('4k-lossy', 'hd-lossy')],
          'targets: two sizes, two styles')
    ht = {row['case']: row for row in rows_of(out, 'ht.json')}
    for n, cells in enumerate(tables['ht-targets'], 1):
        coders = [rows_of(out, f'{name}-{n}.json')[0] for name in ('ht_targets', 'ht_targets_mq')]
        check([row['style'] for row in coders] == ['ht', ''], f'ht-targets: {cells}')
        check([int(cells[2].replace(',', ''))] * 3 == [round(ht[cells[1]]['bytes_per_frame'])] + [row['frame_bytes'] for row in coders], f'ht-targets: {cells}')
        check([cells[6], cells[8]] == [report.psnr(row.get('psnr_db')) for row in coders], f'ht-targets: {cells}')
    check(len(tables['ht-targets']) == 2, 'ht-targets: two sizes')
    for cells in tables['bypass']:
        check(cells[6] == f'{bypass[cells[1]]["bytes_per_frame"] / plain[cells[1]]["bytes_per_frame"]:.3f}', f'bypass: {cells}')
    check([cells[0] for cells in tables['formats']] == [row['case'] for row in rows_of(out, 'formats.json')], 'formats: cases')
    effort_0 = [(row['size'], row['qp'], row['slices'], f'{row["bits_per_pixel"]:.3f}') for row in rows_of(out, 'h264_effort_0.json') if 'fps_alone' in row]
    check([(cells[0], int(cells[1]), int(cells[2]), cells[3]) for cells in tables['h264-effort-0']] == effort_0, 'h264-effort-0: rows')
    check({slices for _, _, slices, _ in effort_0} == {1, 2}, 'h264-effort-0: slices that three rows of macroblocks have')
    for name, part, at in (('sweep', 'sweep', 0), ('ht-sweep', 'ht_sweep', 0), ('ht-sweep', 'ht_sweep_mq', 4)):
        cells, rows = tables[name][at:], rows_of(out, part + '.json')
        check(cells[0][1:] == [f'{row["bits_per_pixel"]:.2f}' for row in rows], f'{part}: bits a pixel')
        check(cells[3][1:] == [report.number(row['best_fps']) for row in rows], f'{part}: frames/s')
        check(all((row['style'] == 'ht') == (part == 'ht_sweep') for row in rows), f'{part}: the block coder')
    many = [report.number(row['best_fps'] / 5) for row in rows_of(out, 'ht_sweep.json')]  # see add_peers()
    check(tables['ht-sweep'][9][1:] == tables['ht-sweep'][1][1:], 'ht_sweep: PSNR of the way that sizes are of')
    check([cells[0].split(':')[0] for cells in tables['ht-sweep'][::4]] == ['HT', 'MQ', "nvJPEG2000's HT"] and tables['ht-sweep'][11][1:] == many, 'ht_sweep: peer')
    check([cells[2] for cells in tables['memory']] == [f'{row["allocated_mib"]:.1f}' for row in rows_of(out, 'memory.json')], 'memory: allocated')
    for cells, row in zip(tables['decode'], report.decoding_rows(report.Results(out)), strict=True):
        rates = [r['fps']['median'] for r in row['rates'] if r['decoder'] == 'cudaenc']
        check(cells[0].split(',')[0] == row['case'] and ('restart' in cells[0]) == (row['restart'] > 0) and cells[2] == f'{row["bytes"]:,.0f}', f'decode: {cells}')
        check(abs(float(cells[3]) / rates[0] - 1) < 0.006 and abs(float(cells[4].split()[0]) / max(rates) - 1) < 0.006, f'decode: {cells}')
    for cells, row in zip(tables['decode-qualities'], rows_of(out, 'decode-qualities.json'), strict=True):
        rates = [r['fps']['median'] for r in row['rates'] if r['decoder'] == 'cudaenc']
        check(cells[:2] == [str(row['quality']), f'{row["bytes"]:,.0f}'] and cells[5:] == ['–'] * 3, f'decode-qualities: {cells}')
        check(abs(float(cells[2]) / rates[0] - 1) < 0.006 and abs(float(cells[3]) / max(rates) - 1) < 0.006, f'decode-qualities: {cells}')
    check([cells[0] for cells in tables['decode-sizes']] == ['64x48'] * 3, f'decode-sizes: {tables["decode-sizes"]}')
    rows = report.decoding_j2k_rows(report.Results(out))
    check([row['tile'] for row in rows] == [0] * 8 + [32, 0, 0], f'decode-j2k: {len(rows)} rows')
    for cells, row in zip(tables['decode-j2k'], rows, strict=True):
        rates = [r['fps']['median'] for r in row['rates'] if r['decoder'] == 'cudaenc']
        check(cells[0].split(',')[0] == row['case'] and cells[1:3] == ['64x48', f'{row["bytes"]:,.0f}'] and cells[6:] == ['–'] * 3, f'decode-j2k: {cells}')
        check(abs(float(cells[3]) / rates[0] - 1) < 0.006 and abs(float(cells[4].split()[0]) / max(rates) - 1) < 0.006, f'decode-j2k: {cells}')
        check(all((text in cells[0]) == bool(row[key]) for key, text in (('region', 'region 8,8,32,24'), ('tile', 'tiles of 32'), ('lowres', 'lowres 3'), ('style', 'ht'))), f'decode-j2k: {cells}')
    check(len(tables['endurance']) == 4, 'endurance: two cases of two sizes')
    for cells, row in zip(tables['cavlc'], rows_of(out, 'cavlc.json'), strict=True):
        check(cells[1] == str(row['qp']) and abs(float(cells[4]) - row['times_as_fast']) < 0.06, f'cavlc: {cells}')
    check(all(rows_of(out, file) for file in ('tier1.json', 'cibo.json', 'cibo-90.json')), 'tier1, cibo: parts of run.sh without a table')
    check(tables['set'][0][4] == f'`{report.read_json(os.path.join(out, "rates.run.json"))["commit"]}`', 'set: commit')
    check(len(tables['headline']) == 2 and tables['headline'][0][2:4] + tables['headline'][0][7:] == [
        f'{free["4k-lossless"]["first_frame_bytes"] / 1e6:.2f} MB', f'{tables["rates"][0][4]} ms', '5.00'], f'headline: {tables["headline"]}')
    for name, rows in (('equal-bytes', free), ('ht-equal-bytes', ht)):
        for cells in tables[name] if 'psnr_db' in rows['4k-lossy'] else []:  # else OpenJPEG's library is not here
            decibel = f'{rows[cells[1]]["psnr_db"]:.3f}'
            check(cells[3:] == [decibel, decibel, f'{rows[cells[1]]["psnr_db"] - 1:.3f}'], f'{name}: {cells}')


def check_scripts(out, ffmpeg, work):
    """What the scripts around ffmpeg leave: rows of rows.sh, and of two of the scripts themselves."""
    file = os.path.join(work, 'rows.jsonl')
    subprocess.run(['bash', '-c', '. "$0/rows.sh"; row "$1" a 1.5 b \'x "y" \\z\' c "" d -2 e 08; row "" f 1', HERE, file], check=True)
    with open(file, encoding='utf-8') as lines:
        check([json.loads(line) for line in lines] == [{'a': 1.5, 'b': 'x "y" \\z', 'c': '', 'd': -2, 'e': '08'}], 'rows.sh')
    if not ffmpeg:
        print('skipped: no ffmpeg given, its scripts are not run')
        return
    programs, clip = os.path.dirname(ffmpeg), os.path.join(work, 'tiny.mkv')
    subprocess.run([ffmpeg, '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=s=96x64:r=25,format=yuv420p', '-frames:v', '60', '-c:v', 'ffv1', clip], check=True)
    measure(programs, out, ['chain', 'h264'], 'cpu', '', CLIPS=clip, SECONDS_EACH='0.1', QUEUES='32', CODERS='dwt97', DEPTHS='2', MUXERS='nut',
            QPS='22 32', FRAMES='4 60', ROUNDS='1', THREADS='2')
    picture = os.path.join(work, 'tiny.png')
    subprocess.run([ffmpeg, '-v', 'error', '-i', clip, '-frames:v', '1', picture], check=True)
    script = os.path.join(HERE, 'decode_rate.sh')
    done = subprocess.run([script, ffmpeg, picture], capture_output=True, text=True,
                          env={**os.environ, 'DEVICE': 'cpu', 'SECONDS_EACH': '0.1', 'THREADS': '2', 'SIZE': '96:64', 'ROWS': os.path.join(out, 'decode.jsonl')})
    check(done.returncode == 0, f'decode_rate.sh: {done.stdout}{done.stderr}')
    _, _, text = render(out, marked('chain', 'h264', 'decode-ffmpeg'))
    tables = tables_of(text)
    check([cells[:3] for cells in tables['chain']] == [['tiny', 'dwt97', 'no file'], ['tiny', 'dwt97', 'nut']], f'chain: {tables["chain"]}')
    check([cells[:4] for cells in tables['decode-ffmpeg']] == [['mjpeg_cuda', 'CPU', '2', '4'], ['mjpeg', 'CPU', '2', '2']],
          f'decode-ffmpeg: {tables["decode-ffmpeg"]}')
    check([cells[:3] for cells in tables['h264']] == [['tiny', '2', '22'], ['tiny', '2', '32']], f'h264: {tables["h264"]}')


def check_refusals(out, work):
    code, error, _ = render(out, '<!-- table nonsense -->\n<!-- end -->\n')
    check(code and 'nonsense' in error, 'an unknown table is refused')
    code, error, _ = render(out, '<!-- table rates -->\n')
    check(code and 'end' in error, 'a table without its end is refused')
    code, error, _ = render(work, marked('rates'))
    check(code and 'no results' in error, 'a folder without results is refused')
    other = os.path.join(work, 'other')
    shutil.copytree(out, other)
    run = report.read_json(os.path.join(other, 'sweep.run.json'))
    with open(os.path.join(other, 'sweep.run.json'), 'w', encoding='utf-8') as file:
        json.dump(dict(run, commit='another'), file)
    code, error, _ = render(other, marked('rates'))
    check(code and 'commit' in error, 'results of two commits are refused')
    os.remove(os.path.join(other, 'sweep.run.json'))
    code, _, text = render(other, marked('rates', 'sweep'))
    check(not code and text.endswith(f'<!-- table sweep -->\n\n{report.NOT_MEASURED}\n\n<!-- end -->\n'), 'a part that was not measured says so')


def check_keep(out, work, text):
    """A later set has one part, of another commit."""
    later = os.path.join(work, 'later')
    shutil.copytree(out, later)
    for name in os.listdir(later):
        if name.endswith('.run.json') and name != 'decode.run.json':
            os.remove(os.path.join(later, name))
    run = report.read_json(os.path.join(later, 'decode.run.json'))
    with open(os.path.join(later, 'decode.run.json'), 'w', encoding='utf-8') as file:
        json.dump(dict(run, commit='later'), file)
    path = os.path.join(later, 'decode-mjpeg-4k-420.json')
    rates = report.read_json(path)
    rates['rows'][0]['bytes'] = 12345
    os.remove(os.path.join(later, 'decode-mjpeg-hd-420.json'))
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(rates, file)
    code, error, both = render(later, text, '--keep')
    check(code == 0, error)
    before, after = tables_of(text), tables_of(both)
    check([cells[4] for cells in after['set']] == [before['set'][0][4], '`later`'], f'keep, set: {after["set"]}')
    check(after['decode'][0][2] == '12,345' and after['rates'] == before['rates'], f'keep: {after["decode"]}')
    check(after['decode'][1:] == before['decode'][1:], f'keep: rows of decoding that were not measured: {after["decode"]}')
    check(render(later, both, '--keep')[2] == both, 'keep: a second time changes nothing')


def check_plots(out, work):
    """Bars as long as the rates are, of the peers of add_peers()."""
    done = subprocess.run([sys.executable, os.path.join(HERE, 'plot.py'), work, out], capture_output=True, text=True)
    check(done.returncode == 0, f'plot.py: {done.stderr}')
    check(not plot.plt or os.path.getsize(os.path.join(work, 'ht-bits-per-pixel.png')) > 10000, 'plot.py: both block coders')
    bars = xml.dom.minidom.parse(os.path.join(work, 'speed.svg')).getElementsByTagName('rect')
    lengths = [float(bar.getAttribute('width')) for bar in bars]
    check(lengths == [500, 100] * 2, f'speed.svg: {lengths}')
    groups = plot.groups_of(os.path.join(work, 'speed.svg'))
    check([len(bars) for _, bars in groups] == [2, 2] and all(bars[0][0] == 'cudaenc' for _, bars in groups), f'speed.svg: {groups}')


def check_docs():
    texts = ''
    for name in ('README.md', 'docs/benchmarks.md'):
        with open(os.path.join(ROOT, name), encoding='utf-8') as file:
            texts += file.read()
    check(sorted(re.findall(r'<!-- table (\S+) -->', texts)) == sorted(report.TABLES), 'README.md and docs/benchmarks.md have each table once')


def main():
    programs, ffmpeg = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    small = '-size 64x48 -frames 2 -single 1 -runs 1 -seconds 0.01'
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, 'results')
        frames = {'SMALL_FRAMES': '10', 'LARGE_FRAMES': '10'}
        measure(programs, out, ['rates', 'bypass', 'targets', 'ht', 'ht_targets', 'mjpeg', 'decode', 'decode_sweep', 'formats', 'sweep', 'ht_sweep'], 'cpu', small + ' -threads 2 -depths 2,4')
        measure(programs, out, ['decode_j2k'], 'cpu', small + ' -depths 2', SLIDE_TILE='32', SLIDE_REGION='8,8,32,24')
        measure(programs, out, ['memory', 'tier1', 'cavlc'], 'emu', small + ' -depths 1', **frames)
        measure(programs, out, ['cibo'], 'emu', small + ' -depths 1 -case hd-lossy')
        measure(programs, out, ['h264_effort_0'], 'cpu', small + ' -threads 2 -depths 2 -quality 22,37')
        add_peers(out)
        code, error, text = render(out, marked(*report.TABLES))
        check(code == 0, error)
        if code == 0:
            check_numbers(out, tables_of(text))
            check(render(out, text)[2] == text, 'a second time changes nothing')
            check_keep(out, work, text)
        check_scripts(out, ffmpeg, work)
        check_refusals(out, work)
        check_plots(out, work)
    check_docs()
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
