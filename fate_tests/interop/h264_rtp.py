# SPDX-License-Identifier: LGPL-2.1-or-later
"""The H.264 byte stream of RTP packets (RFC 6184), which lie one behind the other in a file, as FFmpeg's muxer writes them there. Checks
that sequence numbers follow each other, that packets have at most so many bytes, and that the marker ends each time stamp's packets.

Usage: h264_rtp.py PACKETS MOST_BYTES MOST_NAL_BYTES >STREAM. MOST_NAL_BYTES: 0: NAL units may be divided.
"""
import struct
import sys

SINGLE_MOST, STAP_A, FU_A = 23, 24, 28
START = b'\0\0\0\1'


def packets(data):
    """Of RTP, each one without those of RTCP, which are sender reports of 28 bytes."""
    at, sequence, ssrc = 0, None, data[4:8]
    while at < len(data):
        if data[at + 1] == 200:
            at += 28
            continue
        own = struct.unpack_from('>H', data, at + 2)[0]
        assert sequence is None or own == (sequence + 1) % 65536, f'packet {own} behind {sequence}'
        sequence = own
        following = struct.pack('>H', (own + 1) % 65536)
        end = at + 12
        while end + 12 <= len(data):
            rtp = data[end] == 0x80 and data[end + 1] & 0x7F == data[at + 1] & 0x7F and data[end + 2:end + 4] == following and data[end + 8:end + 12] == ssrc
            if rtp or data[end:end + 8] == b'\x80\xc8\0\x06' + ssrc:
                break
            end += 1
        else:
            end = len(data)
        yield data[at:end]
        at = end


def main(path, most_bytes, most_nal_bytes):
    with open(path, 'rb') as file:
        data = file.read()
    out, last_time, marked = [], None, True
    for packet in packets(data):
        time, payload = packet[4:8], packet[12:]
        assert len(packet) <= most_bytes, f'{len(packet)} bytes in a packet'
        assert marked == (time != last_time), 'the marker is not where a time stamp ends'
        last_time, marked = time, packet[1] >> 7
        kind = payload[0] & 31
        if kind <= SINGLE_MOST:
            out.append(START + payload)
        elif kind == STAP_A:
            at = 1
            while at < len(payload):
                size = struct.unpack_from('>H', payload, at)[0]
                out.append(START + payload[at + 2:at + 2 + size])
                at += 2 + size
        else:
            assert kind == FU_A and not most_nal_bytes, f'a packet of type {kind}'
            out.append((START + bytes([payload[0] & 0xE0 | payload[1] & 31]) if payload[1] & 0x80 else b'') + payload[2:])
    sys.stdout.buffer.write(b''.join(out))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
