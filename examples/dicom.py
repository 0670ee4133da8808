# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compresses a DICOM file to HTJ2K without loss, and compares what comes back.

    pip install cudaenc[dicom]
    python dicom.py IN.dcm OUT.dcm      any pixel data that pydicom reads, of 1 to 16 bits, signed too, many frames
"""
import sys

import cudaenc.pydicom  # registers encoders and decoders with pydicom
import numpy
import pydicom

source, target = sys.argv[1:]
dataset = pydicom.dcmread(source)
samples = dataset.pixel_array.copy()
before = len(dataset.PixelData)
dataset.compress(pydicom.uid.HTJ2KLossless, encoding_plugin="cudaenc")
dataset.save_as(target)

back = pydicom.dcmread(target)
back.pixel_array_options(decoding_plugin="cudaenc")
if not numpy.array_equal(back.pixel_array, samples):
    raise SystemExit(f"{target} does not have the samples of {source}")
print(f"{samples.shape} of {samples.dtype}: {before} bytes became {len(back.PixelData)}")
