// Pictures without a screen, by the program itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

test('render draws a picture for each frame', () => {
  const out = join(mkdtempSync(join(tmpdir(), 'karakuri-render-')), 'frames');
  const done = spawnSync(process.env.KARAKURI_PROGRAM,
    ['render', 'double-pendulum', '--out', out, '--time', '0.3', '--fps', '10', '--size', '320x200'], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stdout, /3 frames/);
  assert.deepEqual(readdirSync(out).sort(), ['frame00000.png', 'frame00001.png', 'frame00002.png']);
  const pictures = readdirSync(out).sort().map((name) => readFileSync(join(out, name)));
  for (const png of pictures) {
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [320, 200]);
  }
  assert.ok(!pictures[0].equals(pictures[2]), 'it moves');
});
