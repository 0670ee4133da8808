# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a decoder says of its frames, by frame_fields.c; for tests that compare it with FFmpeg's own decoder."""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from tally import expect  # noqa: E402


def equal(got, wanted, what):
    if got != wanted and isinstance(got, list):  # of lines what differs
        got, wanted = [line for line in got if line not in wanted], [line for line in wanted if line not in got]
        expect(False, f'{what}: {got}, not {wanted}')
    else:
        expect(got == wanted, f'{what}: {got}, not {wanted}')


def run(*command, data=None):
    return subprocess.run([str(part) for part in command], input=data, capture_output=True, check=True, timeout=120).stdout


def value(lines, key):
    """Of the first frame."""
    return next((line.split('=', 1)[1] for line in lines if line.startswith(key + '=')), None)


class Fields:
    """frame_fields.c, built in a folder. own: the decoder whose lines and log are wanted, on a device."""

    def __init__(self, build, folder, own, device):
        self.program, self.own, self.device = folder / 'frame_fields', own, device
        values = dict(line.split('=', 1) for line in (build / 'ffbuild/config.mak').read_text().splitlines() if '=' in line)
        names = ('avformat', 'avcodec', 'swresample', 'avutil')
        extra = [flag for name in names for flag in values['EXTRALIBS-' + name].split()]
        subprocess.run([*values['CC'].split(), '-Wall', '-I.', '-I' + values['SRC_PATH'], str(HERE / 'frame_fields.c'), '-o',
                        str(self.program), *values['LDFLAGS'].split(), *('-Llib' + name for name in names),
                        *('-l' + name for name in names), *extra], cwd=build, check=True)

    def __call__(self, file, decoder, *options):
        """The lines of frame_fields.c, and what `own` logs."""
        own = ['device=' + self.device] if decoder == self.own else []
        done = subprocess.run([str(self.program), str(file), decoder, *own, *options], capture_output=True, check=True, timeout=120)
        lines = done.stdout.decode('latin-1').splitlines()
        log = [line for line in done.stderr.decode('latin-1').splitlines() if line.startswith('[' + self.own)]
        return [line for line in lines if line.startswith('[') or '=' in line], log
