// What is doubtful in a scene, and what is frozen, stays on the page.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, launch, open, send, start } from './program.mjs';

test('overlaps at the start and frozen bodies are listed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'karakuri-troubles-'));
  const file = join(folder, 'pile.scene.yaml');
  writeFileSync(file, `bodies:
  - {name: low, at: [0, 0, 1], shapes: {sphere: 0.1}}
  - {name: high, at: [0, 0, 1.05], shapes: {sphere: 0.1}}
  - {name: wild, at: [3, 0, 1], joint: {name: hinge, axis: [0, 1, 0]}, shapes: {sphere: 0.1}}
`);
  const program = await start(file);
  const browser = await launch();
  t.after(() => browser.close());
  const page = await open(browser, program.url);
  const shows = (text) =>
    eventually(page, (wanted) => {
      const box = document.querySelector('#troubles');
      return box.checkVisibility() && box.textContent.includes(wanted);
    }, text);
  await shows("link 'low': it overlaps 'high' by 0.15 m at the start");
  await send(page, { type: 'set', key: 'joint.hinge.v', value: 1e200 });
  await shows("'wild' is frozen: its state became non-finite");
  await shows('2 problems');
  assert.deepEqual(page.problems, []);
  assert.equal(await program.stop(), 1);
});
