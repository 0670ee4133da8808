#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""H.264 in a browser: a headless Chromium plays MP4 files, fragments and HLS of h264_cavlc_cuda, hands fragments to Media Source
Extensions and a byte stream to WebCodecs, and decodes every picture.

Usage: chromium.py FFMPEG; DEVICE=cpu. FFMPEG may have the muxer hls. Ends in a line "N passed, N failed". Without a Chromium it says so and passes.
"""
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tally import expect, finish  # noqa: E402

FFMPEG, DEVICE = sys.argv[1], os.environ.get('DEVICE', 'cpu')
PICTURES = 40
FILES = {
    'baseline.mp4': '-profile:v baseline -g 15 -movflags +faststart', 'main.mp4': '-profile:v main -g 15', 'high.mp4': '-profile:v high -g 15',
    'intra.mp4': '', 'slices.mp4': '-g 15 -slices 4', 'refresh.mp4': '-g 60 -intra_refresh 6', 'bytes.mp4': '-g 60 -slice_max_bytes 700',
    'hrd.mp4': '-g 15 -b:v 400k -bufsize 100k -nal-hrd cbr',
    'fragments.mp4': '-g 15 -movflags frag_keyframe+empty_moov+default_base_moof',
    'live.m3u8': '-g 20 -f hls -hls_time 0.8 -hls_playlist_type vod -hls_segment_type fmp4',
    'stream.h264': '-g 15',
}
PAGE = '''<video id=video muted></video><script>
const video = document.getElementById('video');
const played = start => new Promise(done => {
  video.onended = () => done(video.getVideoPlaybackQuality().totalVideoFrames);
  video.onerror = () => done(video.error.message);
  start();
  video.play().catch(done);
});
async function appended() {
  const source = new MediaSource();
  const opened = new Promise(done => source.onsourceopen = done);
  const count = played(() => video.src = URL.createObjectURL(source));
  await opened;
  const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.64000B"');
  buffer.appendBuffer(await (await fetch('fragments.mp4')).arrayBuffer());
  await new Promise(done => buffer.onupdateend = done);
  source.endOfStream();
  return count;
}
async function decoded() {
  const bytes = new Uint8Array(await (await fetch('stream.h264')).arrayBuffer());
  let frames = 0, begin = 0, end;
  const decoder = new VideoDecoder({output: frame => { frames++; frame.close(); }, error: e => frames = e.message});
  decoder.configure({codec: 'avc1.64000B', optimizeForLatency: true});
  const code = at => !bytes[at] && !bytes[at + 1] && !bytes[at + 2] && bytes[at + 3] === 1;
  for (let at = 0; at < bytes.length; at = end) {  // a slice ends its picture
    for (end = at + 4; end < bytes.length && !code(end); end++);
    const type = bytes[at + 4] & 31;
    if (type !== 1 && type !== 5) continue;
    decoder.decode(new EncodedVideoChunk({type: type === 5 ? 'key' : 'delta', timestamp: 0, data: bytes.slice(begin, end)}));
    begin = end;
  }
  await decoder.flush();
  return frames;
}
(async () => {
  const found = {};
  for (const name of FILES) found[name] = await played(() => video.src = name);
  found.MSE = await appended();
  found.WebCodecs = await decoded();
  await fetch('found', {method: 'POST', body: JSON.stringify(found)});
})().catch(e => fetch('found', {method: 'POST', body: JSON.stringify({page: String(e)})}));
</script>'''


class Handler(http.server.SimpleHTTPRequestHandler):
    found, came = {}, threading.Event()

    def do_POST(self):  # noqa: N802
        Handler.found = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.send_response(200)
        self.end_headers()
        Handler.came.set()

    def log_message(self, *_):
        pass


def make(folder):
    muxers = subprocess.run([FFMPEG, '-v', 'error', '-muxers'], capture_output=True, check=True).stdout.decode()
    files = {name: options for name, options in FILES.items() if ' hls ' in muxers or not name.endswith('.m3u8')}
    for name, options in files.items():
        rate = [] if '-b:v' in options else ['-crf', '26']
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=s=176x144:r=25', '-frames:v', str(PICTURES), '-pix_fmt', 'yuv420p',
                        '-c:v', 'h264_cavlc_cuda', '-device', DEVICE, '-sc_threshold', '0', *rate, *options.split(), folder / name], check=True)
    played = [name for name in files if not name.endswith('.h264')]
    (folder / 'index.html').write_text(PAGE.replace('FILES', json.dumps(played)))
    return played


def browse(browser, folder):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    process = subprocess.Popen([browser, '--headless', '--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required', '--remote-debugging-port=0',
                                f'--user-data-dir={folder / "profile"}', f'http://127.0.0.1:{server.server_port}/'],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    expect(Handler.came.wait(180), 'no answer of the browser in 180 s')
    process.terminate()
    process.wait()
    server.shutdown()
    return Handler.found


def main():
    browser = shutil.which('chromium-headless-shell') or shutil.which('chromium')
    if not browser:
        print('skipped: no Chromium here')
        finish()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        played = make(folder)
        found = browse(browser, folder)
    for name in [*played, 'WebCodecs']:
        expect(found.get(name) == PICTURES, f'{name}: {found.get(name)} of {PICTURES} pictures; {found.get("page", "")}')
    # Pictures may be decoded again when the end of the stream is told.
    expect(isinstance(found.get('MSE'), int) and found['MSE'] >= PICTURES, f'MSE: {found.get("MSE")}')
    finish()


if __name__ == '__main__':
    main()
