# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plugin of pydicom: what it compresses is read by pylibjpeg and GDCM."""
import io
import unittest

import numpy
import pydicom
import pydicom.pixels
from pydicom import uid
from test_cudaenc import picture, random

import cudaenc.pydicom

LOSSLESS = (uid.JPEG2000Lossless, uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL)


def dataset(array, bits=None, interpretation=None):
    """Of frames, (rows, columns), (rows, columns, 3) or with frames before these."""
    ds = pydicom.Dataset()
    ds.file_meta = pydicom.dataset.FileMetaDataset()
    ds.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    ds.SOPClassUID = uid.CTImageStorage
    ds.SOPInstanceUID = uid.generate_uid()
    colour = array.shape[-1] == 3
    ds.NumberOfFrames = array.shape[0] if array.ndim == 3 + colour else 1
    ds.Rows, ds.Columns = array.shape[-3:-1] if colour else array.shape[-2:]
    ds.SamplesPerPixel = 3 if colour else 1
    if colour:
        ds.PlanarConfiguration = 0
    ds.PhotometricInterpretation = interpretation or ("RGB" if colour else "MONOCHROME2")
    ds.BitsAllocated = 8 * array.dtype.itemsize
    ds.BitsStored = bits or ds.BitsAllocated
    ds.HighBit = ds.BitsStored - 1
    ds.PixelRepresentation = int(array.dtype.kind == "i")
    ds.PixelData = array.tobytes()
    ds["PixelData"].VR = "OW"
    return ds


def saved(ds):
    file = io.BytesIO()
    ds.save_as(file, enforce_file_format=True)
    file.seek(0)
    return pydicom.dcmread(file)


def signed(*shape, bits):
    return (picture(*shape, bits=bits).astype(int) - (1 << bits - 1)).astype(f"int{8 if bits <= 8 else 16}")


class Compress(unittest.TestCase):
    ARRAYS = {
        "CT, 16 bits, signed": (signed(61, 47, bits=16), 16), "CT, 12 bits, signed": (signed(61, 47, bits=12), 12),
        "MR, 12 bits": (picture(61, 47, bits=12), 12), "MR, 16 bits": (picture(61, 47, bits=16), 16),
        "8 bits": (picture(61, 47), 8), "5 frames": (picture(5, 61, 47, bits=12), 12), "RGB": (picture(61, 47, 3), 8),
        "frames of RGB": (picture(3, 61, 47, 3), 8), "8 bits, signed": (signed(61, 47, bits=8), 8),
    }

    def test_lossless(self):
        for name, (array, bits) in self.ARRAYS.items():
            for syntax in LOSSLESS:
                for plugin in ("cudaenc", "pylibjpeg", "gdcm") if syntax == uid.JPEG2000Lossless else ("cudaenc", "pylibjpeg"):
                    with self.subTest(name, syntax=syntax.name, plugin=plugin):
                        ds = dataset(array, bits, "YBR_RCT" if array.shape[-1] == 3 and syntax != uid.HTJ2KLosslessRPCL else None)
                        ds.compress(syntax, encoding_plugin="cudaenc")
                        read = saved(ds)
                        read.pixel_array_options(decoding_plugin=plugin, raw=True)
                        self.assertTrue(numpy.array_equal(read.pixel_array, array))

    def test_lossy(self):
        array = picture(61, 47, bits=12)
        for syntax, options in ((uid.JPEG2000, {"j2k_cr": [5]}), (uid.JPEG2000, {"j2k_cr": [10, 5]}), (uid.JPEG2000, {"j2k_psnr": [60]}),
                                (uid.JPEG2000, {}), (uid.HTJ2K, {"quality": 95}), (uid.HTJ2K, {"compression_ratio": 4})):
            with self.subTest(syntax.name, **options):
                ds = dataset(array, 12)
                ds.compress(syntax, encoding_plugin="cudaenc", **options)
                read = saved(ds)
                read.pixel_array_options(decoding_plugin="pylibjpeg")
                self.assertLess(abs(read.pixel_array.astype(int) - array).mean(), 40)
                other = read.pixel_array.astype(int)
                read.pixel_array_options(decoding_plugin="cudaenc")
                self.assertLessEqual(abs(read.pixel_array.astype(int) - other).max(), 1)
                self.assertLess(len(read.PixelData), array.nbytes / 2)

    def test_jpeg(self):
        for array in picture(61, 47) // 2, picture(4, 61, 47) // 2, numpy.repeat(picture(61, 47, 1) // 2, 3, -1):
            ds = dataset(array)
            ds.compress(uid.JPEGBaseline8Bit, encoding_plugin="cudaenc", quality=95)
            read = saved(ds)
            pixels = []
            for plugin in "cudaenc", "pylibjpeg", "pillow":
                read.pixel_array_options(decoding_plugin=plugin)
                pixels.append(read.pixel_array.astype(int))
                self.assertLess(abs(pixels[-1] - array).mean(), 6)
                self.assertLessEqual(abs(pixels[-1] - pixels[0]).max(), 1)

    def test_errors(self):
        for text, array, syntax, options in (("lossless is not allowed with quality", picture(8, 8), uid.JPEG2000Lossless, {"quality": 3}),
                                             ("quality 101", picture(8, 8), uid.JPEG2000, {"quality": 101}),
                                             ("one layer", picture(8, 8), uid.JPEG2000, {"j2k_psnr": [30, 40]})):
            with self.assertLogs("pydicom"), self.assertRaisesRegex(RuntimeError, text):
                dataset(array).compress(syntax, encoding_plugin="cudaenc", **options)
        ds = dataset(picture(8, 8))
        ds.compress(uid.JPEGBaseline8Bit, encoding_plugin="cudaenc")
        frame = next(pydicom.encaps.generate_frames(ds.PixelData))
        ds.PixelData = pydicom.encaps.encapsulate([frame[:len(frame) // 2]])
        ds.pixel_array_options(decoding_plugin="cudaenc")
        with self.assertLogs("pydicom"), self.assertRaisesRegex(RuntimeError, "cudaenc"):
            ds.pixel_array

    def test_lossless_jpeg_is_decoded(self):
        # 8x4 of 12 bits: the first difference is 1, the others are 0
        frame = b"\xff\xd8\xff\xc3\0\x0b\x0c\0\4\0\x08\1\1\x11\0\xff\xc4\0\x15\0\2" + bytes(15) + b"\0\1"
        frame += b"\xff\xda\0\x08\1\1\0\1\0\0" + b"\xc0\0\0\0\0\xff\xd9"
        ds = dataset(numpy.zeros((4, 8), numpy.uint16), 12)
        ds.file_meta.TransferSyntaxUID = uid.JPEGLosslessSV1
        ds.PixelData = pydicom.encaps.encapsulate([frame])
        ds["PixelData"].is_undefined_length = True
        ds.pixel_array_options(decoding_plugin="cudaenc")
        self.assertEqual(ds.pixel_array.tolist(), [[2049] * 8] * 4)
