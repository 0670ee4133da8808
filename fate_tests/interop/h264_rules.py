# SPDX-License-Identifier: LGPL-2.1-or-later
"""H.264's Annexes A and C of streams of IDR pictures, of P pictures between them, and of pairs of intra fields, as the byte stream tells:
parameter sets, HRD parameters, SEI messages, slice headers and sizes. Written from the standard, not from the library. Times are in
seconds, as fractions."""
import re
from fractions import Fraction
from math import ceil, floor

# Tables: MaxMBPS, MaxFS, MaxDpbMbs, MaxBR, MaxCPB, MinCR, SliceRate.
LEVELS = {
    10: (1485, 99, 396, 64, 175, 2, None), 11: (3000, 396, 900, 192, 500, 2, None), 12: (6000, 396, 2376, 384, 1000, 2, None),
    13: (11880, 396, 2376, 768, 2000, 2, None), 20: (11880, 396, 2376, 2000, 2000, 2, None), 21: (19800, 792, 4752, 4000, 4000, 2, None),
    22: (20250, 1620, 8100, 4000, 4000, 2, None), 30: (40500, 1620, 8100, 10000, 10000, 2, 22),
    31: (108000, 3600, 18000, 14000, 14000, 4, 60), 32: (216000, 5120, 20480, 20000, 20000, 4, 60),
    40: (245760, 8192, 32768, 20000, 25000, 4, 60), 41: (245760, 8192, 32768, 50000, 62500, 2, 24),
    42: (522240, 8704, 34816, 50000, 62500, 2, 24), 50: (589824, 22080, 110400, 135000, 135000, 2, 24),
    51: (983040, 36864, 184320, 240000, 240000, 2, 24), 52: (2073600, 36864, 184320, 240000, 240000, 2, 24),
    60: (4177920, 139264, 696320, 240000, 240000, 2, 24), 61: (8355840, 139264, 696320, 480000, 480000, 2, 24),
    62: (16711680, 139264, 696320, 800000, 800000, 2, 24),
}
# Table A-2: cpbBrVclFactor and cpbBrNalFactor.
FACTORS = {66: (1000, 1200), 77: (1000, 1200), 100: (1250, 1500), 110: (3000, 3600), 122: (4000, 4800), 44: (4000, 4800),
           244: (4000, 4800)}
P_SLICE, SLICE, SEI, SPS, PPS, AUD, FILLER = 1, 5, 6, 7, 8, 9, 12


class Bits:
    def __init__(self, rbsp):
        self.value, self.left = int.from_bytes(rbsp, 'big'), 8 * len(rbsp)

    def u(self, count):
        self.left -= count
        assert self.left >= 0, 'bits end'
        return self.value >> self.left & ((1 << count) - 1)

    def ue(self):
        zeros = 0
        while not self.u(1):
            zeros += 1
        return (1 << zeros) - 1 + self.u(zeros)

    def se(self):
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -code // 2


class Sps:
    """7.3.2.1.1, with VUI (E.1.1). height: of a picture, a field where there are fields; period: of a picture; hrd: BitRate, CpbSize, cbr_flag, lengths of three delays, or None."""

    def __init__(self, rbsp):
        bits = Bits(rbsp)
        self.profile, self.constraints, self.level, _ = bits.u(8), bits.u(8), bits.u(8), bits.ue()
        if self.profile in (100, 110, 122, 244, 44):
            chroma = bits.ue()
            assert chroma < 3 or not bits.u(1), 'separate_colour_plane_flag'
            bits.ue(), bits.ue(), bits.u(1)
            if bits.u(1):
                for size in [16] * 6 + [64] * (6 if chroma == 3 else 2):
                    self.skip_scaling_list(bits, size)
        self.frame_num_bits = bits.ue() + 4
        self.poc_type = bits.ue()
        if self.poc_type == 0:
            bits.ue()
        self.ref_frames, _, self.width, self.height = bits.ue(), bits.u(1), bits.ue() + 1, bits.ue() + 1
        self.fields = not bits.u(1)
        assert not self.fields or not bits.u(1), 'mb_adaptive_frame_field_flag'
        self.direct_8x8_inference = bits.u(1)
        if bits.u(1):
            [bits.ue() for _ in range(4)]
        self.period = self.hrd = self.frame_buffers = None
        self.fixed_frame_rate = 0
        if bits.u(1):
            self.read_vui(bits)

    @staticmethod
    def skip_scaling_list(bits, size):
        last = following = 8
        for _ in range(size if bits.u(1) else 0):
            if following:
                following = (last + bits.se()) % 256
            last = following or last

    def read_vui(self, bits):
        if bits.u(1) and bits.u(8) == 255:
            bits.u(32)
        if bits.u(1):
            bits.u(1)
        if bits.u(1):
            bits.u(4)
            if bits.u(1):
                bits.u(24)
        if bits.u(1):
            bits.ue(), bits.ue()
        if bits.u(1):
            tick, scale = bits.u(32), bits.u(32)
            self.tick = Fraction(tick, scale)
            self.period, self.fixed_frame_rate = self.tick * (1 if self.fields else 2), bits.u(1)
        if bits.u(1):
            assert bits.ue() == 0, 'cpb_cnt_minus1'
            rate_scale, size_scale = bits.u(4), bits.u(4)
            rate, size = (bits.ue() + 1) << (6 + rate_scale), (bits.ue() + 1) << (4 + size_scale)
            self.hrd = rate, size, bits.u(1), [bits.u(5) + 1 for _ in range(3)]
            bits.u(5)
        assert not bits.u(1), 'vcl_hrd_parameters_present_flag'
        assert not self.hrd or not bits.u(1), 'low_delay_hrd_flag'
        bits.u(1)
        if bits.u(1):
            bits.u(1), [bits.ue() for _ in range(5)]
            self.frame_buffers = bits.ue()


class AccessUnit:
    """Bits by NAL HRD (Type II: with start codes and zeros) and by VCL HRD (slices and filler data, Type I); bytes of NAL units; macroblocks
    at which slices begin; idr_pic_id of IDR pictures, frame_num and bottom_field_flag of all; initial_cpb_removal_delay, its offset and cpb_removal_delay,
    or None; recovery_frame_cnt, or None."""

    def __init__(self):
        self.types, self.first, self.idr_pic_ids, self.frame_nums, self.bottoms = [], [], [], [], []
        self.nal_bits = self.vcl_bits = self.nal_bytes = self.filler_bits = 0
        self.delay = self.offset = self.removal = self.recovery = None

    @property
    def is_idr(self):
        return SLICE in self.types

    @property
    def begins_period(self):
        return self.is_idr or self.recovery is not None


class Stream:
    def __init__(self, data):
        self.units, self.sps, parameter_sets = [], None, set()
        starts = [match.start() for match in re.finditer(rb'\x00?\x00\x00\x01', data)]
        for at, end in zip(starts, starts[1:] + [len(data)]):
            nal = data[data.index(b'\1', at) + 1:end].rstrip(b'\0')
            kind, rbsp = nal[0] & 31, nal[1:].replace(b'\0\0\3', b'\0\0') if nal[0] & 31 not in (SLICE, P_SLICE) else nal[1:40].replace(b'\0\0\3', b'\0\0')
            is_slice = kind in (SLICE, P_SLICE)
            if not self.units or self.units[-1].first and (kind in (SEI, SPS, PPS, AUD) or is_slice and rbsp[0] & 0x80):
                self.units.append(AccessUnit())
            unit = self.units[-1]
            unit.types.append(kind)
            unit.nal_bits += 8 * (end - at)
            unit.nal_bytes += len(nal)
            if is_slice or kind == FILLER:
                unit.vcl_bits += 8 * len(nal)
            if kind == FILLER:
                unit.filler_bits += 8 * (end - at)
            elif kind == SPS:
                parameter_sets.add(rbsp)
                self.sps = Sps(rbsp)
            elif kind == SEI:
                self.read_sei(Bits(rbsp), unit)
            elif is_slice:
                bits = Bits(rbsp)
                unit.first.append(bits.ue())
                bits.ue(), bits.ue(), unit.frame_nums.append(bits.u(self.sps.frame_num_bits))
                if self.sps.fields:
                    assert bits.u(1), 'field_pic_flag'
                    unit.bottoms.append(bits.u(1))
                if kind == SLICE:
                    unit.idr_pic_ids.append(bits.ue())
        assert len(parameter_sets) == 1, 'sequence parameter sets differ'

    def read_sei(self, bits, unit):
        while bits.left > 8:
            kind, size = [self.read_sei_number(bits) for _ in range(2)]
            payload = Bits(bits.u(8 * size).to_bytes(size, 'big'))
            if kind == 0:
                payload.ue()
                unit.delay, unit.offset = [payload.u(self.sps.hrd[3][0]) for _ in range(2)]
            elif kind == 6:
                unit.recovery = payload.ue()
            elif kind == 1 and self.sps.hrd:
                unit.removal = payload.u(self.sps.hrd[3][1])

    @staticmethod
    def read_sei_number(bits):
        value = 0
        while (byte := bits.u(8)) == 255:
            value += 255
        return value + byte


def order_faults(stream):
    """7.4.1.2.3, 7.4.3: NAL units of an access unit, idr_pic_id of pictures."""
    places = {AUD: 0, SPS: 1, PPS: 1, SEI: 2, SLICE: 3, P_SLICE: 3, FILLER: 4}
    last = number = None
    for n, unit in enumerate(stream.units):
        order = [places.get(kind, -1) for kind in unit.types]
        if order != sorted(order) or -1 in order or len({SLICE, P_SLICE} & set(unit.types)) != 1:
            yield f'7.4.1.2.3: picture {n} has NAL units {unit.types}'
        if unit.is_idr and (len(set(unit.idr_pic_ids)) != 1 or unit.idr_pic_ids[0] == last):
            yield f'7.4.3: picture {n} has idr_pic_id {unit.idr_pic_ids}, the one before {last}'
        last = unit.idr_pic_ids[0] if unit.is_idr else last
        second = stream.sps.fields and n % 2
        if stream.sps.fields and set(unit.bottoms) != {stream.units[0].bottoms[0] ^ n % 2}:
            yield f'7.4.1.2.4: picture {n} has bottom_field_flag {unit.bottoms}'
        wanted = number if second else 0 if unit.is_idr else (number + 1) % (1 << stream.sps.frame_num_bits)
        if set(unit.frame_nums) != {wanted}:
            yield f'7.4.3: picture {n} has frame_num {unit.frame_nums}, not {wanted}'
        number = wanted
        if unit.first != sorted(set(unit.first)) or unit.first[0] != 0:
            yield f'7.4.3: slices of picture {n} begin at {unit.first}'


def picture_faults(stream):
    """A.3.1 a), c) to h), A.3.3 a), b), c), i) to k): what a level says of pictures, but for their bits."""
    sps = stream.sps
    mbps, size, dpb, _, _, min_cr, slice_rate = LEVELS[sps.level]
    macroblocks, least = sps.width * sps.height, Fraction(1, (300 if sps.level >= 60 else 172) * (2 if sps.fields else 1))
    frame_height = sps.height * (2 if sps.fields else 1)
    frame = sps.width * frame_height
    if frame > size or max(sps.width, frame_height) ** 2 > 8 * size:
        yield f'A.3.1 e) to g): {sps.width} x {frame_height} macroblocks in level {sps.level}'
    if sps.fields and not 21 <= sps.level <= 41:
        yield f'table A-4: fields in level {sps.level}'
    if sps.period and sps.period < max(Fraction(macroblocks, mbps), least):
        yield f'A.3.1 a): {macroblocks} macroblocks in {sps.period} s, level {sps.level}'
    intra = sps.constraints & 0x10 and sps.profile in (44, 100, 110, 122, 244)
    buffers = min(dpb // frame, 16)
    if not sps.ref_frames <= (sps.frame_buffers if sps.frame_buffers is not None else 0 if intra else buffers) <= buffers:
        yield f'A.3.1 h): max_dec_frame_buffering {sps.frame_buffers}'
    if not sps.direct_8x8_inference:
        yield 'A.3.3 c): direct_8x8_inference_flag'
    for n, unit in enumerate(stream.units):
        first = max(Fraction(macroblocks), least * mbps)
        room = first if n == 0 or not sps.period else mbps * sps.period
        if slice_rate and (sps.profile != 66 or sps.constraints & 0x40) and len(unit.first) > room / slice_rate:
            yield f'A.3.3 a), b): picture {n} has {len(unit.first)} slices'
        longest = max(b - a for a, b in zip(unit.first, unit.first[1:] + [macroblocks]))
        if intra and macroblocks > 1620 and sps.level < 60 and longest > size // 4:
            yield f'A.3.3 k): a slice of picture {n} has {longest} macroblocks'
        if sps.profile in (66, 77, 100) and unit.nal_bytes > 384 * room / min_cr:
            yield f'A.3.1 c), d), A.3.3 i), j): picture {n} has {unit.nal_bytes} bytes, MinCR allows {float(384 * room / min_cr):.0f}'


def bucket_faults(clause, sizes, period, rate, size):
    """C.3 of a buffer that is full at first."""
    fullness = Fraction(size)
    for n, bits in enumerate(sizes):
        if bits > fullness:
            yield f'{clause}: picture {n} has {bits} bits, the buffer of {size} bits at {rate} bits/s {float(fullness):.0f}'
            return
        fullness = min(fullness - bits + rate * period, size)


def rate_faults(stream):
    """A.3.1 i), j), A.3.3 g), h): BitRate and CpbSize within MaxBR and MaxCPB; where they are not told, these are inferred (E.2.2) and C.3
    holds of them."""
    sps = stream.sps
    _, _, _, rate, size, _, _ = LEVELS[sps.level]
    vcl, nal = FACTORS[sps.profile]
    if not sps.period:
        return
    yield from bucket_faults('A.3.1 i), A.3.3 g)', [u.vcl_bits for u in stream.units], sps.period, vcl * rate, vcl * size)
    if not sps.hrd:
        yield from bucket_faults('A.3.1 j), A.3.3 h)', [u.nal_bits for u in stream.units], sps.period, nal * rate, nal * size)
    elif sps.hrd[0] > nal * rate or sps.hrd[1] > nal * size:
        yield f'A.3.1 j), A.3.3 h): {sps.hrd[0]} bits/s, {sps.hrd[1]} bits in level {sps.level}'


def hrd_faults(stream):
    """C.1.1 to C.3 of the NAL HRD that the stream tells of, where each IDR picture and each recovery point begins a buffering
    period."""
    if not stream.sps.hrd:
        return
    rate, size, cbr, _ = stream.sps.hrd
    units, period = stream.units, stream.sps.period
    if any((unit.delay is None) == unit.begins_period or unit.removal is None for unit in units):
        yield 'D.2.1: a picture without buffering period or timing'
        return
    sums = {unit.delay + unit.offset for unit in units if unit.begins_period}
    if len(sums) != 1:
        yield 'D.2.1: the sum of initial_cpb_removal_delay and its offset changes'
    removals, begins, ends = [], [], []
    start = Fraction(0)  # the removal of the picture that began the buffering period
    for n, unit in enumerate(units):
        if unit.begins_period and not 0 < unit.delay <= Fraction(90000 * size, rate):
            yield f'D.2.1: initial_cpb_removal_delay {unit.delay} of picture {n}'
        removals.append(start + unit.removal * stream.sps.tick if n else Fraction(unit.delay, 90000))  # (C-9), (C-7)
        start = removals[n] if unit.begins_period else start
        if n and stream.sps.fixed_frame_rate and removals[-1] - removals[-2] != period:
            yield f'E.2.1: picture {n} comes after {removals[-1] - removals[-2]} s'
        if n and unit.begins_period:
            since = 90000 * (removals[n] - ends[-1])  # (C-18)
            if unit.delay > ceil(since) or cbr and unit.delay < floor(since):
                yield f'C.3: initial_cpb_removal_delay {unit.delay} of picture {n}, {float(since):.2f} passed'
        earliest = removals[n] - Fraction(unit.delay if unit.begins_period else max(sums), 90000)  # (C-4), (C-3)
        begins.append((ends[-1] if n else Fraction(0)) if cbr else max(ends[-1] if n else Fraction(0), earliest))
        ends.append(begins[-1] + Fraction(unit.nal_bits, rate))
        if ends[n] > removals[n]:
            yield f'C.3: picture {n} comes {float(ends[n] - removals[n]):.6f} s late'
    arrived, removed, later = Fraction(0), 0, 0
    for n, unit in enumerate(units):
        while later < len(units) and ends[later] <= removals[n]:
            arrived += units[later].nal_bits
            later += 1
        part = max(removals[n] - begins[later], 0) * rate if later < len(units) else 0
        if arrived + part - removed > size:
            yield f'C.3: the buffer of {size} bits holds {float(arrived + part - removed):.0f} before picture {n}'
        removed += unit.nal_bits


def faults(stream):
    return [line for rule in (order_faults, picture_faults, rate_faults, hrd_faults) for line in rule(stream)]
