# SPDX-License-Identifier: LGPL-2.1-or-later
"""The streams that FATE's tests profile-* left follow the rules of their profiles; and streams that break one rule each, made of
them, show that profile_rules.py would say so.

usage: profiles.py FFMPEG_BUILD <list of streams
A line of the list: name, pixel format, WxH, frames, source file, encoder options.
"""
import re
import struct
import subprocess
import sys

import pictures
import profile_rules
from decoders import read
from profile_rules import CAP, COD, COC, PLM, PLT, POC, PPM, PPT, QCC, QCD, RGN, SIZ, TLM, PROFILES, Codestream, limits, violated

BUILD = sys.argv[1]
RATE = 25


def segment(code, body):
    return struct.pack('>HH', code, len(body) + 2) + bytes(body)


class Mutation:
    """A stream to change: its bytes, and where its segments are."""
    def __init__(self, data, profile):
        self.data, self.profile, self.rate = bytearray(data), profile, RATE
        self.stream = Codestream(data)

    def body(self, code):
        return self.stream.one(code).at + 4

    def put(self, at, value, size=1):
        self.data[at:at + size] = value.to_bytes(size, 'big')

    def insert(self, added, part=None):
        """Behind QCD, or in the header of a tile-part, which grows."""
        if part is None:
            at = self.stream.one(QCD).end
        else:
            at = self.stream.tile_parts[part].at + 12
            self.grow(part, len(added))
        self.data[at:at] = added

    def grow(self, part, size):
        p = self.stream.tile_parts[part]
        self.put(p.at + 6, p.length + size, 4)

    def remove(self, code):
        s = self.stream.one(code)
        del self.data[s.at:s.end]


def pad(m, part, size):
    end = m.stream.tile_parts[part].end
    m.grow(part, size)
    m.data[end:end] = bytes(size)


def drop_last_part(m):
    part = m.stream.tile_parts[-1]
    del m.data[part.at:part.end]


def join_parts(m):
    """The first two tile-parts become one: the second one's packets end up behind the first one's."""
    first, second = m.stream.tile_parts[:2]
    m.put(first.at + 6, first.length + second.end - second.data_at, 4)
    del m.data[second.at:second.data_at]


def move_boundary(m):
    """A byte of the second tile-part's data goes to the first one."""
    first, second = m.stream.tile_parts[:2]
    byte = m.data[second.data_at:second.data_at + 1]
    del m.data[second.data_at:second.data_at + 1]
    m.data[first.end:first.end] = byte
    m.put(first.at + 6, first.length + 1, 4)
    m.put(second.at + 1 + 6, second.length - 1, 4)


def large_frame(m):
    for _ in range(40):
        m.insert(segment(0xFF64, bytes(60000)))


def five_components(m):
    siz = m.stream.one(SIZ)
    m.data[siz.at:siz.end] = segment(SIZ, siz.body[:34] + b'\0\5' + siz.body[36:39] * 5)


def own_style(m, changed):
    """A COC marker segment for component 0 that differs in one field of SPcoc."""
    cod = m.stream.one(COD).body
    style = bytearray([0, cod[0] & 1]) + bytearray(cod[5:])
    at, value = changed
    style[2 + at] = value
    m.insert(segment(COC, style))


# By rule: what breaks it. Where there are several ways, all of them must be seen.
MUTATIONS = {
    'rsiz': [lambda m: m.put(m.body(SIZ), 0, 2), lambda m: m.put(m.body(SIZ), 0x02F1 if m.profile == 'broadcast' else 0x0101, 2),
             lambda m: m.put(m.body(SIZ), m.stream.rsiz & 0xFF00 | 0xF3, 2)],
    'size': [lambda m: m.put(m.body(SIZ) + 2, 8193, 4), lambda m: m.put(m.body(SIZ) + 6, 6225, 4)],
    'origins': [lambda m, i=i: m.put(m.body(SIZ) + i, 1, 4) for i in (10, 14, 26, 30)],
    'tiles': [lambda m: m.put(m.body(SIZ) + 18, m.stream.width // 3 + 1, 4), lambda m: m.put(m.body(SIZ) + 22, 7, 4)],
    'components': [five_components],
    'depth': [lambda m: m.put(m.body(SIZ) + 36, 6), lambda m: m.put(m.body(SIZ) + 36, 0x8B), lambda m: m.put(m.body(SIZ) + 36, 16)],
    'subsampling': [lambda m: m.put(m.body(SIZ) + 38, 2), lambda m: m.put(m.body(SIZ) + 37, 2)],
    'no_region_of_interest': [lambda m: m.insert(segment(RGN, b'\0\0\7')), lambda m: m.insert(segment(RGN, b'\0\0\7'), 0)],
    'no_packed_headers': [lambda m: m.insert(segment(PPM, b'\0\0\0\0\0')), lambda m: m.insert(segment(PPT, b'\0\0'), -1)],
    'coding_in_main_header': [lambda m, code=code: m.insert(segment(code, m.stream.one(COD if code in (COD, COC) else QCD).body), 0)
                              for code in (COD, COC, QCD, QCC)],
    'levels': [lambda m: m.put(m.body(COD) + 5, 8), lambda m: own_style(m, (0, 7 if m.stream.levels != 7 else 1))],
    'one_layer': [lambda m: m.put(m.body(COD) + 2, 2, 2)],
    'code_blocks': [lambda m: m.put(m.body(COD) + 6, 2), lambda m: m.put(m.body(COD) + 7, 1), lambda m: own_style(m, (1, 0))],
    'code_block_style': [lambda m: m.put(m.body(COD) + 8, 1), lambda m: own_style(m, (3, 8))],
    'wavelet': [lambda m: m.put(m.body(COD) + 9, 1 - m.stream.style[4]), lambda m: own_style(m, (4, 1 - m.stream.style[4]))],
    'precincts': [lambda m: m.put(m.body(COD) + 10, 0x88), lambda m: m.put(m.body(COD) + 10 + m.stream.levels, 0x87),
                  lambda m: own_style(m, (5, 0xFF))],
    'progression': [lambda m: m.put(m.body(COD) + 1, 2)],
    'progression_changes': [lambda m: m.insert(segment(POC, [0, 0, 0, 1, 1, 3, 4])),
                            lambda m: m.insert(segment(POC, [0, 0, 0, 1, 1, 3, 4]), 0)],
    'tile_parts': [drop_last_part, join_parts, move_boundary,
                   lambda m: m.put(m.stream.tile_parts[0].at + 11, 9), lambda m: m.put(m.stream.tile_parts[0].at + 10, 1)],
    'tile_part_lengths': [lambda m: m.remove(TLM), lambda m: m.put(m.body(TLM) + 7, m.data[m.body(TLM) + 7] ^ 1)],
    'frame_bytes': [large_frame],
}
CINEMA = {
    'colour_transform': [lambda m: m.put(m.body(COD) + 4, 0)],
    'tiles': [lambda m: m.put(m.body(SIZ) + 18, m.stream.width + 1, 4), lambda m: m.put(m.body(SIZ) + 22, m.stream.height + 1, 4)],
    'guard_bits': [lambda m: m.put(m.body(QCD), m.data[m.body(QCD)] ^ 0x60)],
    'component_bytes': [lambda m, i=i: pad(m, i, 1000001) for i in range(3)],
    'levels': [lambda m: m.put(m.body(COD) + 5, m.stream.levels - 1)],
    'no_packet_markers': [lambda m: m.put(m.body(COD), m.stream.scod | 2), lambda m: m.put(m.body(COD), m.stream.scod | 4),
                          lambda m: m.insert(segment(PLT, b'\0\1'), 0), lambda m: m.insert(segment(PLM, b'\0'))],
    'frame_rate': [lambda m, rate=rate: setattr(m, 'rate', rate) for rate in (24000 / 1001, 23, 120, 15)],
}
LEVELS = {'sampling_rate': [lambda m: setattr(m, 'rate', 10 ** 9)]}
# Lossy streams of IMF have a sub level, lossless ones have none.
IMF = {'rsiz': [lambda m: m.put(m.body(SIZ) + 1, m.stream.rsiz & 15 | (0 if m.stream.rsiz & 0xF0 else 0x10))]}
CINEMA_4K = {'progression_changes': [lambda m: m.remove(POC), lambda m: m.put(m.body(POC) + 4, m.stream.levels - 1),
                                     lambda m: m.put(m.body(POC) + 13, 2)]}
# The HT block coder's capabilities, of CAP; and what differs from the other profiles.
IMF_HT = {
    'capabilities': [lambda m: m.remove(CAP), lambda m: m.put(m.body(CAP), 3 << 16, 4), lambda m: m.put(m.body(CAP) + 4, 0x80),
                     lambda m: m.put(m.body(CAP) + 4, 0x40), lambda m: m.put(m.body(CAP) + 4, 0x20), lambda m: m.put(m.body(CAP) + 4, 0x10),
                     lambda m: m.put(m.body(CAP) + 5, m.data[m.body(CAP) + 5] ^ 0x20), lambda m: m.put(m.body(CAP) + 5, m.data[m.body(CAP) + 5] + 8)],
    'depth': [lambda m: m.put(m.body(SIZ) + 36, 6), lambda m: m.put(m.body(SIZ) + 39, m.data[m.body(SIZ) + 36] + 1)],
    'code_block_style': [lambda m: m.put(m.body(COD) + 8, 0), lambda m: m.put(m.body(COD) + 8, 0xC0), lambda m: own_style(m, (3, 8))],
    'progression': [lambda m, order=order: m.put(m.body(COD) + 1, order) for order in (0, 1, 3, 4)],
    'levels': [lambda m: m.put(m.body(COD) + 5, 0), lambda m: m.put(m.body(COD) + 5, 6 if m.stream.width <= 2048 else 7)],
}
# Pictures of one component have nothing to sub-sample or to join, one tile-part is dropped with all data; and some profiles leave
# a thing open.
OPEN = {
    'broadcast': {'size'}, 'imf_ht': {'coding_in_main_header'}, 'imf_ht_r': {'coding_in_main_header'},
}


def mutations_of(profile):
    if profile.startswith('imf_ht'):
        sets = [{rule: changes for rule, changes in MUTATIONS.items() if rule not in IMF_HT}, IMF_HT]
    else:
        sets = [MUTATIONS, CINEMA if profile.startswith('cinema') else LEVELS] + ([CINEMA_4K] if profile == 'cinema4k' else []) + (
            [IMF] if profile.startswith('imf') else [])
    return [(rule, change) for found in sets for rule, changes in found.items() for change in changes
            if rule not in OPEN.get(profile, ())]


def check_mutations(name, data, profile):
    failures, count = [], 0
    for number, (rule, change) in enumerate(mutations_of(profile)):
        m = Mutation(data, profile)
        if len(m.stream.tile_parts) < 2 and change in (drop_last_part, join_parts, move_boundary):
            continue
        if rule == 'frame_bytes' and not violated_by_size(m):
            continue
        change(m)
        count += 1
        found = violated(bytes(m.data), profile, m.rate)
        if rule not in found:
            failures.append(f'{name}: change {number} breaks {rule}, found is: {" ".join(found) or "nothing"}')
    return failures, count


def violated_by_size(m):
    """Whether the stream's level limits what large_frame() makes: 2.4 MB, 480 Mbit/s."""
    main, sub = m.stream.rsiz & 15, m.stream.rsiz >> 4 & 15
    return m.profile.startswith('cinema') or (m.profile.startswith('imf') and sub in (1, 2)) or (
        m.profile == 'broadcast' and main <= 4)


def main():
    passed, failures, by_profile = 0, [], {}
    for line in sys.stdin:
        name = line.split(' ')[0]
        match = re.search(r'-profile (\w+)', line)
        if not match or match[1] not in PROFILES:
            continue
        profile = match[1]
        wrong = []
        try:
            for file in pictures.split_files(read(f'{BUILD}/tests/data/fate/j2k_cuda-{name}.image2pipe')):
                data = codestream(file)
                rate = int(match[1]) if (match := re.search(r'-r (\d+)', line)) else RATE
                found = violated(data, profile, rate, limits('-hfr 1' in line, '-stereo 1' in line))
                wrong += [f'{name}: {rule}' for rule in found]
                if match := re.search(r'-min_frame_bytes (\d+)', line):
                    wrong += [f'{name}: {len(file)} bytes'] * (len(file) < int(match[1]))
                by_profile.setdefault(profile, (name, data))
        except OSError as e:
            wrong.append(f'{name}: {e}')
        passed += not wrong
        failures += wrong
    for profile, (name, data) in by_profile.items():
        wrong, count = check_mutations(name, data, profile)
        passed += count - len(wrong)
        failures += wrong
    file = f'{BUILD}/tests/data/fate/j2k_cuda-profile-cinema2k-hfr.image2pipe'
    rate = 1.5 * 250e6 / 8 / len(read(file))  # too many frames of this size, and not with twice the bits
    for flags, too_many in (['--hfr'], False), ([], True), (['--hfr', '--stereo'], True):
        command = [sys.executable, profile_rules.__file__, *flags, 'cinema2k', str(rate), file]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        right = ' frame_bytes' in said if too_many else said == f'{file}: frame_rate\n'
        failures += [f'profile_rules.py {flags}: {said}'] * (not right)
        passed += right
    for failure in failures:
        print('FAILED', failure)
    print(f'{passed} passed, {len(failures)} failed')
    return 1 if failures or not passed else 0


def codestream(file):
    """Of a JP2 file, or the file itself."""
    return file[file.index(b'jp2c') + 4:] if file[4:8] == b'jP  ' else file


if __name__ == '__main__':
    sys.exit(main())
