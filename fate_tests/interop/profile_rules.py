#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules of JPEG 2000 profiles, checked on a codestream; written from the tables that docs/encoders.md names, and from nothing of
the encoder. As a program: profile_rules.py [--hfr] [--stereo] PROFILE FRAMES_A_SECOND FILE...
"""
import math
import sys

SOC, SOT, SOD, EOC = 0xFF4F, 0xFF90, 0xFF93, 0xFFD9
SIZ, COD, COC, QCD, QCC, RGN, POC = 0xFF51, 0xFF52, 0xFF53, 0xFF5C, 0xFF5D, 0xFF5E, 0xFF5F
CAP, TLM, PLM, PLT, PPM, PPT = 0xFF50, 0xFF55, 0xFF57, 0xFF58, 0xFF60, 0xFF61
RPCL, CPRL = 2, 4


class Malformed(Exception):
    pass


def be(data, at, size):
    if at + size > len(data):
        raise Malformed(f'the stream ends at {len(data)}')
    return int.from_bytes(data[at:at + size], 'big')


class Segment:
    """A marker segment: its code, where its marker is, its body behind the length."""
    def __init__(self, data, at):
        self.code, self.at = be(data, at, 2), at
        self.end = at + 2 + be(data, at + 2, 2)
        self.body = data[at + 4:self.end]


class TilePart:
    def __init__(self, data, at):
        self.at = at
        self.tile, self.length = be(data, at + 4, 2), be(data, at + 6, 4)
        self.number, self.count = be(data, at + 10, 1), be(data, at + 11, 1)
        self.segments = []
        at += 12
        while be(data, at, 2) != SOD:
            self.segments.append(Segment(data, at))
            at = self.segments[-1].end
        self.data_at = at + 2
        self.end = self.at + self.length
        if self.length < 14 or self.end > len(data) - 2:
            raise Malformed(f'Psot {self.length} at {self.at}')


class Codestream:
    """T.800 A.3: what the main header says, and the tile-parts."""
    def __init__(self, data):
        self.data, self.segments, self.tile_parts = data, [], []
        if be(data, 0, 2) != SOC:
            raise Malformed('no SOC')
        at = 2
        while be(data, at, 2) != SOT:
            self.segments.append(Segment(data, at))
            at = self.segments[-1].end
        while be(data, at, 2) == SOT:
            self.tile_parts.append(TilePart(data, at))
            at = self.tile_parts[-1].end
        if be(data, at, 2) != EOC or at + 2 != len(data):
            raise Malformed(f'no EOC at {at}')
        siz = self.one(SIZ).body
        self.rsiz = be(siz, 0, 2)
        self.width, self.height, self.x0, self.y0, self.tile_width, self.tile_height, self.tile_x0, self.tile_y0 = (
            be(siz, 2 + 4 * i, 4) for i in range(8))
        self.components = [tuple(siz[36 + 3 * c:39 + 3 * c]) for c in range(be(siz, 34, 2))]  # Ssiz, XRsiz, YRsiz
        cod = self.one(COD).body
        self.scod, self.progression, self.layers, self.mct = cod[0], cod[1], be(cod, 2, 2), cod[4]
        self.style = cod[5:10]  # levels, block width and height, style, wavelet
        self.levels = cod[5]
        self.precincts = list(cod[10:11 + self.levels]) if self.scod & 1 else [0xFF] * (self.levels + 1)
        self.tiles_across = math.ceil(self.width / self.tile_width) if self.tile_width else 0
        self.tiles_down = math.ceil(self.height / self.tile_height) if self.tile_height else 0

    def all(self, code):
        return [s for s in self.segments if s.code == code]

    def one(self, code):
        found = self.all(code)
        if len(found) != 1:
            raise Malformed(f'{len(found)} marker segments {code:X}')
        return found[0]


# ---- packets, T.800 B.10: enough to know where each ends

class Bits:
    def __init__(self, data, at):
        self.data, self.at, self.left, self.byte = data, at, 0, 0

    def bit(self):
        if not self.left:
            self.left = 7 if self.byte == 0xFF else 8
            self.byte = be(self.data, self.at, 1)
            self.at += 1
        self.left -= 1
        return self.byte >> self.left & 1

    def bits(self, count):
        value = 0
        for _ in range(count):
            value = value << 1 | self.bit()
        return value

    def end(self):
        return self.at + (self.byte == 0xFF)  # a stuffed bit makes one more byte


class TagTree:
    def __init__(self, columns, rows):
        self.sizes = [(columns, rows)]
        while self.sizes[-1] != (1, 1):
            self.sizes.append(tuple((n + 1) // 2 for n in self.sizes[-1]))
        self.low = [[0] * (w * h) for w, h in self.sizes]
        self.known = [[False] * (w * h) for w, h in self.sizes]

    def value_below(self, bits, x, y, threshold):
        """Whether the leaf's value is below threshold, reading what must be read for that."""
        low = 0
        for level in reversed(range(len(self.sizes))):
            i = (y >> level) * self.sizes[level][0] + (x >> level)
            low = self.low[level][i] = max(self.low[level][i], low)
            while low < threshold and not self.known[level][i]:
                if bits.bit():
                    self.known[level][i] = True
                else:
                    low += 1
            self.low[level][i] = low
        return low < threshold


def passes(bits):
    """Table B.4."""
    for few in 1, 2:
        if not bits.bit():
            return few
    for size, first in (2, 3), (5, 6):
        value = bits.bits(size)
        if value < (1 << size) - 1:
            return first + value
    return 37 + bits.bits(7)


def precinct_grids(stream, tile, component):
    """Per resolution: its precincts in raster order, each the (columns, rows) of the code-blocks of its sub-bands."""
    _, dx, dy = stream.components[component]
    tx, ty = tile % stream.tiles_across, tile // stream.tiles_across
    edges = [(tx * stream.tile_width, min((tx + 1) * stream.tile_width, stream.width), dx),
             (ty * stream.tile_height, min((ty + 1) * stream.tile_height, stream.height), dy)]
    block = [stream.style[1] + 2, stream.style[2] + 2]
    resolutions = []
    for r in range(stream.levels + 1):
        down = stream.levels - r
        exponents = stream.precincts[r] & 15, stream.precincts[r] >> 4
        spans = []  # by direction: for each precinct, the blocks in its low and its high half
        for (first, last, d), log2, side in zip(edges, exponents, block):
            begin, end = (-(-(-(-x // d)) // (1 << down)) for x in (first, last))
            precincts = []
            for k in range(begin >> log2, -(-end >> log2) if end > begin else begin >> log2):
                halves = []
                for high in (0, 1) if r else (0,):
                    half = (lambda x: (x + 1 - high) // 2) if r else (lambda x: x)
                    log2_band = log2 - 1 if r else log2
                    low = max(half(begin), k << log2_band)
                    top = min(half(end), (k + 1) << log2_band)
                    cut = min(side, log2_band)
                    halves.append(max(0, (-(-top >> cut)) - (low >> cut)) if top > low else 0)
                precincts.append(halves)
            spans.append(precincts)
        across, down_ = spans
        bands = [(1, 0), (0, 1), (1, 1)] if r else [(0, 0)]
        resolutions.append([[(h[x], v[y]) for x, y in bands] for v in down_ for h in across])
    return resolutions


def skip_packet(stream, at, bands):
    """The end of a packet of one layer that begins at `at`."""
    data = stream.data
    if stream.scod & 2 and be(data, at, 2) == 0xFF91:
        at += 6
    bits, body = Bits(data, at), 0
    if bits.bit():
        for columns, rows in bands:
            if not columns or not rows:
                continue
            inclusion, zeros = TagTree(columns, rows), TagTree(columns, rows)
            for y in range(rows):
                for x in range(columns):
                    if not inclusion.value_below(bits, x, y, 1):
                        continue
                    planes = 1
                    while not zeros.value_below(bits, x, y, planes):
                        planes += 1
                        if planes > 80:
                            raise Malformed('more zero bit-planes than there are')
                    count, size = passes(bits), 3
                    while bits.bit():
                        size += 1
                    body += bits.bits(size + count.bit_length() - 1)
    at = bits.end()
    if stream.scod & 4:
        if be(data, at, 2) != 0xFF92:
            raise Malformed(f'no EPH at {at}')
        at += 2
    return at + body


def holds_packets(stream, part, component, resolutions):
    """Whether a tile-part has all packets of these resolutions of a component, and nothing else. CPRL with precincts that nest
    goes through positions, which are resolutions in turn where a component has one precinct each; otherwise by position."""
    grids = precinct_grids(stream, part.tile, component)
    _, dx, dy = stream.components[component]
    tx, ty = part.tile % stream.tiles_across, part.tile // stream.tiles_across
    order = []
    for r in resolutions:
        down = stream.levels - r
        log2x, log2y = stream.precincts[r] & 15, stream.precincts[r] >> 4
        begin_x = -(-(-(-tx * stream.tile_width // dx)) // (1 << down)) >> log2x
        begin_y = -(-(-(-ty * stream.tile_height // dy)) // (1 << down)) >> log2y
        end_x = -(-min((tx + 1) * stream.tile_width, stream.width) // dx)
        end_x = -(-(-(-end_x // (1 << down))) >> log2x)
        across = max(end_x - begin_x, 1)
        for k, bands in enumerate(grids[r]):
            x = max((begin_x + k % across << log2x + down) * dx, tx * stream.tile_width)
            y = max((begin_y + k // across << log2y + down) * dy, ty * stream.tile_height)
            order.append((y, x, r, k, bands))
    at = part.data_at
    for _, _, _, _, bands in sorted(order, key=lambda o: o[:4]):
        at = skip_packet(stream, at, bands)
        if at > part.end:
            return False
    return at == part.end


# ---- profiles

IMF_SAMPLES = [0, 65, 130, 195, 260, 520, 1200, 2400, 4800, 9600, 19200, 38400]  # Table A.53
IMF_BITS = [None, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200]             # Table A.54
BROADCAST = {1: (65, 200), 2: (130, 200), 3: (195, 200), 4: (260, 400), 5: (520, 800), 6: (520, 1600), 7: (520, None)}

# family, Rsiz but for levels, largest size, levels, sides of tiles
PROFILES = {
    'cinema2k': ('cinema', 0x0003, (2048, 1080), (5, 5), ()),
    'cinema4k': ('cinema', 0x0004, (4096, 2160), (6, 6), ()),
    'imf2k': ('imf', 0x0400, (2048, 1556), (1, 5), ()),
    'imf4k': ('imf', 0x0500, (4096, 3112), (1, 6), ()),
    'imf8k': ('imf', 0x0600, (8192, 6224), (1, 7), ()),
    'imf2k_r': ('imf', 0x0700, (2048, 1556), (1, 5), (1024,)),
    'imf4k_r': ('imf', 0x0800, (4096, 3112), (1, 6), (1024, 2048)),
    'imf8k_r': ('imf', 0x0900, (8192, 6224), (1, 7), (1024, 2048, 4096)),
    'broadcast': ('broadcast', None, (1 << 32, 1 << 32), (1, 5), ()),
    'imf_ht': ('imf_ht', 0x4000, (8192, 6224), (1, 7), ()),
    'imf_ht_r': ('imf_ht', 0x4000, (8192, 6224), (1, 7), ()),
}


def samples(s):
    return sum(math.ceil(s.width / dx) * math.ceil(s.height / dy) for _, dx, dy in s.components)


class Rules:
    """Each method is a rule; it gives whether the stream follows it."""
    def __init__(self, stream, profile, rate, times):
        self.s, self.profile, self.rate, self.times = stream, profile, rate, times
        self.family, self.base, self.largest, self.level_range, self.tile_sides = PROFILES[profile]
        self.cinema, self.ht = self.family == 'cinema', self.family == 'imf_ht'
        self.reversible = profile.endswith('_r') or (self.family == 'broadcast' and stream.rsiz >> 8 == 3)

    def violated(self):
        names = [n for n in dir(self) if n.startswith('rule_')]
        found = []
        for name in names:
            try:
                holds = getattr(self, name)()
            except (Malformed, IndexError, ZeroDivisionError, ValueError):
                holds = False
            if not holds:
                found.append(name[5:])
        return found

    def rule_rsiz(self):
        rsiz, main, sub = self.s.rsiz, self.s.rsiz & 15, self.s.rsiz >> 4 & 15
        if self.cinema or self.ht:
            return rsiz == self.base
        if self.family == 'imf':
            highest = 0 if self.reversible else max(main - 2, 1)  # SMPTE ST 2067-21: lossy streams have a sub level
            return rsiz & 0xFF00 == self.base and 1 <= main <= 11 and min(highest, 1) <= sub <= highest
        return not sub and (rsiz >> 8 in (1, 2) and 1 <= main <= 7 or rsiz >> 8 == 3 and main in (6, 7))

    def rule_size(self):
        return self.s.width <= self.largest[0] and self.s.height <= self.largest[1]

    def rule_origins(self):
        return not (self.s.x0 or self.s.y0 or self.s.tile_x0 or self.s.tile_y0)

    def rule_tiles(self):
        s = self.s
        if self.cinema:  # libdcp's verifier takes no larger ones
            return (s.tile_width, s.tile_height) == (s.width, s.height)
        if s.tile_width >= s.width and s.tile_height >= s.height:
            return True
        if self.family == 'broadcast':
            return (s.rsiz >> 8 in (2, 3) and s.tiles_across * s.tiles_down == 4 and s.tiles_across <= 2 and
                    s.tile_width * s.tiles_across == s.width and s.tile_height * s.tiles_down == s.height)
        return s.tile_width == s.tile_height and s.tile_width in self.tile_sides

    def rule_components(self):
        count = len(self.s.components)
        return count == 3 if self.cinema else count <= (4 if self.family == 'broadcast' or self.ht else 3)

    def rule_depth(self):
        low, high = {'cinema': (11, 11), 'imf': (7, 15), 'broadcast': (7, 11), 'imf_ht': (7, 15)}[self.family]
        depths = {depth for depth, _, _ in self.s.components}
        return all(low <= depth <= high for depth in depths) and (not self.ht or len(depths) == 1)

    def rule_subsampling(self):
        steps = [(dx, dy) for _, dx, dy in self.s.components]
        if any(dy != 1 for _, dy in steps):
            return False
        across = [dx for dx, _ in steps]
        return all(dx == 1 for dx in across) or (
            not self.cinema and len(across) >= 3 and across[:3] == [1, 2, 2] and across[3:] in ([], [1]))

    def rule_no_region_of_interest(self):
        return not self.anywhere(RGN)

    def rule_no_packed_headers(self):
        return not self.anywhere(PPM) and not self.anywhere(PPT)

    def rule_coding_in_main_header(self):
        return self.ht or not any(s.code in (COD, COC, QCD, QCC) for part in self.s.tile_parts for s in part.segments)

    def anywhere(self, code):
        return self.s.all(code) or any(s.code == code for part in self.s.tile_parts for s in part.segments)

    def styles(self):
        """SPcod, and SPcoc of each component that has its own."""
        return [self.s.style] + [s.body[2:7] for s in self.s.all(COC)]

    def rule_levels(self):
        low, high = self.level_range
        if self.family == 'imf' and self.reversible:  # Table A.52
            high = min(high, 4 if self.s.tile_width < 2048 else 5 if self.s.tile_width < 4096 else
                       6 if self.s.tile_width < 8192 else 7)
        if self.ht:
            side = max(self.s.width, self.s.height)
            high = 5 if side <= 2048 else 6 if side <= 4096 else 7
        return all(low <= style[0] <= high and style[0] == self.s.levels for style in self.styles())

    def rule_one_layer(self):
        return self.s.layers == 1

    def rule_code_blocks(self):
        if self.family == 'broadcast' or self.ht:
            return all(5 <= style[1] + 2 <= 7 and 5 <= style[2] + 2 <= 6 for style in self.styles())
        return all(style[1] + 2 == style[2] + 2 == 5 for style in self.styles())

    def rule_code_block_style(self):
        return all(style[3] == (0x40 if self.ht else 0) for style in self.styles())

    def rule_wavelet(self):
        return all(style[4] == (1 if self.reversible else 0) for style in self.styles())

    def rule_precincts(self):
        sets = [self.s.precincts] + [list(s.body[7:]) for s in self.s.all(COC) if s.body[1] & 1]
        return all(sizes == [0x77] + [0x88] * self.s.levels for sizes in sets)

    def rule_progression(self):
        return self.s.progression == (RPCL if self.ht else CPRL)

    def rule_progression_changes(self):
        changes = [s.body for s in self.s.all(POC)]
        if any(s.code == POC for part in self.s.tile_parts for s in part.segments):
            return False
        if self.profile != 'cinema4k':
            return not changes
        n = self.s.levels
        return changes == [bytes([0, 0, 0, 1, n, 3, CPRL, n, 0, 0, 1, n + 1, 3, CPRL])]

    def rule_tile_parts(self):
        """One a component and tile; at 4K those of the 2K portion, then those of what is left."""
        s, everything = self.s, range(self.s.levels + 1)
        if self.ht:  # nothing is said of how many
            return all(part.tile == 0 and part.number == i and part.count in (0, len(s.tile_parts))
                       for i, part in enumerate(s.tile_parts))
        portions = [range(s.levels), range(s.levels, s.levels + 1)] if self.profile == 'cinema4k' else [everything]
        expected = [(tile, c, part) for tile in range(s.tiles_across * s.tiles_down)
                    for part in portions for c in range(len(s.components))]
        count = len(portions) * len(s.components)
        return len(expected) == len(s.tile_parts) and all(
            part.tile == tile and part.count == count and part.number == i % count and holds_packets(s, part, c, resolutions)
            for i, (part, (tile, c, resolutions)) in enumerate(zip(s.tile_parts, expected)))

    def rule_tile_part_lengths(self):
        entries = []
        for segment in sorted(self.s.all(TLM), key=lambda t: t.body[0]):
            tile_bytes, length_bytes = segment.body[1] >> 4 & 3, 4 if segment.body[1] & 0x40 else 2
            for at in range(2, len(segment.body), tile_bytes + length_bytes):
                tile = be(segment.body, at, tile_bytes) if tile_bytes else len(entries)
                entries.append((tile, be(segment.body, at + tile_bytes, length_bytes)))
        return bool(entries) and entries == [(part.tile, part.length) for part in self.s.tile_parts]

    def rule_no_packet_markers(self):
        return not self.cinema or not (self.s.scod & 6 or self.anywhere(PLT) or self.anywhere(PLM))

    def rule_frame_rate(self):
        """SMPTE ST 429-13, ST 428-11 and ST 428-21."""
        rates = [16, 200 / 11, 20, 240 / 11, 24, 25, 30, 48, 50, 60] + [96] * (self.profile == 'cinema2k')
        return not self.cinema or any(abs(self.rate - rate) < 1e-6 for rate in rates)

    def rule_colour_transform(self):
        return not self.cinema or self.s.mct == 1

    def rule_guard_bits(self):
        wanted = {'cinema2k': 1, 'cinema4k': 2}.get(self.profile)
        bodies = [self.s.one(QCD).body] + [s.body[1:] for s in self.s.all(QCC)]
        return wanted is None or all(body[0] >> 5 == wanted for body in bodies)

    def rule_sampling_rate(self):
        if self.cinema or self.ht:
            return True
        main = self.s.rsiz & 15
        most = BROADCAST.get(main, (0, 0))[0] if self.family == 'broadcast' else IMF_SAMPLES[main]
        return samples(self.s) * self.rate <= most * 1e6

    def rule_frame_bytes(self):
        main, sub = self.s.rsiz & 15, self.s.rsiz >> 4 & 15
        most = None if self.ht else 250 if self.cinema else BROADCAST.get(main, (0, 0))[1] if self.family == 'broadcast' else IMF_BITS[sub]
        return most is None or len(self.s.data) <= most * 1e6 / 8 / self.rate * self.times

    def rule_component_bytes(self):
        return not self.cinema or all(part.length <= 200e6 / 8 / self.rate * self.times for part in self.s.tile_parts[:3])


    def rule_capabilities(self):
        """SMPTE ST 2067-21 Annex H of CAP: Part 15 alone; all code-blocks HT, one HT set, no region, alike; 5/3 or not; and B, which
        with 5/3 has a value, with 9/7 a bound. Decoders need as many magnitude bit-planes."""
        if not self.ht:
            return True
        body, s = self.s.one(CAP).body, self.s
        pcap, ccap, depth, transform = be(body, 0, 4), be(body, 4, 2), s.components[0][0] + 1, s.mct
        told = (ccap & 31) + 8
        expected = depth + 3 + transform + (s.levels > 5) if self.reversible else depth + 1 + (depth > 10 and transform)
        planes = 0
        for q in [s.one(QCD).body] + [q.body[1:] for q in s.all(QCC)]:
            for i in range(3 * s.levels + 1):
                exponent = q[1 + i] >> 3 if self.reversible else q[1 + 2 * i] >> 3
                level = s.levels - max(i - 1, 0) // 3
                planes = max(planes, exponent + (q[0] >> 5) - (1 if self.reversible else level))
        return (len(body) == 6 and pcap == 1 << 17 and not ccap >> 12 and not ccap >> 6 & 31 and
                bool(ccap & 32) == (not self.reversible) and planes <= told and
                (told == expected if self.reversible else told <= expected))


def violated(data, profile, rate, times=1):
    """The names of the rules that a codestream breaks. times: of digital cinema's sizes, 2 at high frame rates, half for an eye."""
    try:
        stream = Codestream(data)
    except (Malformed, IndexError) as e:
        return [f'malformed: {e}']
    return Rules(stream, profile, rate, times).violated()


def limits(hfr, stereo):
    """How many times digital cinema's sizes are allowed."""
    return (2 if hfr else 1) / (2 if stereo else 1)


def main():
    flags = {word for word in sys.argv[1:] if word in ('--hfr', '--stereo')}
    profile, rate, *files = [word for word in sys.argv[1:] if word not in flags]
    broken = False
    for name in files:
        with open(name, 'rb') as file:
            rules = violated(file.read(), profile, float(rate), limits('--hfr' in flags, '--stereo' in flags))
        print(f'{name}: {" ".join(rules) or "valid"}')
        broken |= bool(rules)
    return broken


if __name__ == '__main__':
    sys.exit(main())
