# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of 8 bits that j2k_cuda and OpenJPEG code to a target of size, and their PSNR as OpenJPEG decodes them.
"""
import math
import os
import subprocess
import tempfile

from decoders import read

CAP = 60  # dB: what more counts as; errors are a quarter of a code value there, and one of two hundred bytes more may end them


class Picture:
    """samples: bytes, gray or interleaved RGB."""

    def __init__(self, samples, width, height):
        self.samples, self.width, self.height = samples, width, height
        self.components = len(samples) // (width * height)

    def size(self, bits):
        """Bytes of so many bits a pixel."""
        return int(bits * self.width * self.height / 8)

    def psnr(self, path, region=None):
        """Of a codestream, or its region X, Y, WIDTH, HEIGHT."""
        decoded = path + ('.pgm' if self.components == 1 else '.ppm')
        subprocess.run(['opj_decompress', '-quiet', '-i', path, '-o', decoded], check=True, stdout=subprocess.DEVNULL)
        ours, theirs = (self.cut(samples, region) for samples in (self.samples, read(decoded)[-len(self.samples):]))
        error = sum((a - b) * (a - b) for a, b in zip(ours, theirs))
        return min(10 * math.log10(255 ** 2 * len(ours) / error), CAP) if error else CAP

    def cut(self, samples, region):
        if not region:
            return samples
        x, y, width, height = region
        begins = (((y + row) * self.width + x) * self.components for row in range(height))
        return b''.join(samples[begin:begin + width * self.components] for begin in begins)


def with_openjpeg(picture, size, pred):
    """The bytes of OpenJPEG's codestream, in blocks of 32x32, which may be a few more than were asked for; and its PSNR."""
    with tempfile.TemporaryDirectory() as where:
        path, source = where + '/openjpeg.j2k', where + ('/in.pgm' if picture.components == 1 else '/in.ppm')
        with open(source, 'wb') as file:
            file.write(b'P%d\n%d %d\n255\n' % (5 if picture.components == 1 else 6, picture.width, picture.height) + picture.samples)
        subprocess.run(['opj_compress', '-i', source, '-o', path, '-b', '32,32', '-r', f'{len(picture.samples) / size:.6f}'] +
                       (['-I'] if pred == 'dwt97' else []), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return os.path.getsize(path), picture.psnr(path)


def encode(ffmpeg, picture, pred, options, region=None):
    """The bytes of j2k_cuda's codestream, and its PSNR, or that of a region."""
    with tempfile.TemporaryDirectory() as where:
        path = where + '/frame.j2k'
        with open(path, 'wb') as file:
            subprocess.run([ffmpeg, '-nostdin', '-v', 'error', '-f', 'rawvideo', '-pixel_format',
                            'gray' if picture.components == 1 else 'rgb24', '-video_size', f'{picture.width}x{picture.height}', '-i',
                            'pipe:0', '-c:v', 'j2k_cuda', '-device', 'cpu', '-pred', pred, *options, '-format', 'j2k', '-f',
                            'image2pipe', 'pipe:1'], input=picture.samples, stdout=file, check=True)
        return os.path.getsize(path), picture.psnr(path, region)


def code(ffmpeg, picture, size, pred, control, options=()):
    """The same with a target."""
    return encode(ffmpeg, picture, pred, ('-rate_control', control, '-frame_bytes', str(size), *options))
