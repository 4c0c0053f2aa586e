// A scene with a Python file that is broken and mended while it runs.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, launch, open, send, start, status, until } from './program.mjs';

test('a behaviour that fails stops the simulation, is told with its traceback, and goes on when mended', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'karakuri-behaviour-'));
  for (const name of ['cart-pole.scene.yaml', 'cart-pole.py']) copyFileSync(join('..', 'scenes', name), join(folder, name));
  const file = join(folder, 'cart-pole.py');
  const good = readFileSync(file, 'utf8');
  const program = await start(join(folder, 'cart-pole.scene.yaml'));
  const browser = await launch();
  t.after(() => browser.close());
  const page = await open(browser, program.url);
  await until(page, (s) => s.time > 0.1 && s.halted === null);
  assert.match(await page.textContent('#description'), /Runs Python: .*cart-pole\.py/);

  const bad = good.replace('def step(world, dt):\n', 'def step(world, dt):\n    raise ValueError("no such pole")\n');
  assert.notEqual(bad, good);
  writeFileSync(file, bad);
  await until(page, (s) => s.halted !== null);
  const { halted, time } = await status(page);
  assert.match(halted, /ValueError: no such pole/);
  assert.match(halted, /cart-pole\.py/);
  await eventually(page, () => document.querySelector('#halted').checkVisibility() && document.querySelector('#halted').textContent.includes('no such pole'));
  await page.waitForTimeout(400);
  assert.equal((await status(page)).time, time, 'nothing moves');
  const late = await open(browser, program.url, { width: 300, height: 200 }); // who comes now is told as well
  await until(late, (s) => /no such pole/.test(s.halted));
  await late.close();

  writeFileSync(file, `${good}\n`);
  await until(page, (s, before) => s.halted === null && s.time > before + 0.1, time);
  await eventually(page, () => !document.querySelector('#halted').checkVisibility());

  // in a second world it acts as well: the same forces there, to the bit
  await send(page, { type: 'pause' });
  await send(page, { type: 'reset' });
  await send(page, { type: 'compare', settings: {} });
  await send(page, { type: 'step', count: 500 });
  const dt = await page.evaluate(() => window.karakuri.settings.dt);
  await until(page, (s, end) => s.compare !== null && Math.abs(s.time - end) < 1e-6, 500 * dt);
  const { hash, compare } = await status(page);
  assert.ok(hash);
  assert.equal(compare.hash, hash);
  assert.deepEqual(page.problems, []);
  assert.equal(await program.stop(), 0);
});
