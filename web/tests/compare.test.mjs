// Two worlds in one page, bodies that are dropped, scenes that are saved.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { eventually, launch, open, scene, send, start, status, until } from './program.mjs';

const SLOPE = scene('slope', `
name: slope
settings: {dt: 0.001}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.2], velocity: [2, 0, 0]}
view: {from: [1, -4, 1.5], to: [0.4, 0, 0.5]}
`);

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

async function opened(t) {
  const program = await start(SLOPE);
  const page = await open(browser, program.url);
  t.after(async () => {
    await page.close();
    assert.equal(await program.stop(), 0);
    assert.deepEqual(page.problems, []);
  });
  return page;
}

/** The controller with this name in the panel; panels may be closed, so it is not clicked with the mouse. */
const controller = (page, name) => page.locator('.lil-controller', { has: page.getByText(name, { exact: true }) });

test('two worlds run in step, one as ghosts of the other', async (t) => {
  const page = await opened(t);
  await send(page, { type: 'pause' });
  await controller(page, 'contact').last().locator('select').selectOption('penalty', { force: true });
  await controller(page, 'a second world').locator('input').dispatchEvent('click');
  await until(page, (s) => s.compare !== null);
  await send(page, { type: 'reset' });
  await until(page, (s) => s.time === 0 && s.compare.time === 0);
  await send(page, { type: 'play' });
  await until(page, (s) => s.time > 0.6);
  const now = await status(page);
  assert.equal(now.compare.time, now.time);
  assert.equal(now.compare.settings.contact, 'penalty');
  assert.equal((await page.evaluate(() => window.karakuri.settings)).contact, 'cone');
  assert.ok(now.compare.distance > 1e-6, 'springs give way');
  assert.ok(await page.evaluate(() => window.karakuri.frame.other?.length === 7));
  assert.match(await page.textContent('.figures.compare'), /apart/);
  // side by side: the camera goes aside to see both, and back where it was
  const eye = () => page.evaluate(() => window.karakuri.stage.camera.position.toArray());
  const apart = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
  const before = await eye();
  await controller(page, 'side by side').locator('input').dispatchEvent('click');
  assert.ok(apart(await eye(), before) > 0.1);
  await controller(page, 'a second world').locator('input').dispatchEvent('click');
  await until(page, (s) => s.compare === null);
  assert.ok(apart(await eye(), before) < 1e-6);
});

test('a box is dropped where the pointer is, and the whole is saved as a scene', async (t) => {
  const page = await opened(t);
  await page.mouse.move(300, 250);
  await page.keyboard.press('d');
  await eventually(page, () => window.karakuri.scene.links.length === 3);
  await page.keyboard.press('o');
  await eventually(page, () => window.karakuri.scene.links.length === 4);
  await until(page, (s, t0) => s.time > t0 + 0.5, (await status(page)).time);
  const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  assert.equal(saved.suggestedFilename(), 'slope.scene.yaml');
  const text = readFileSync(await saved.path(), 'utf8');
  assert.match(text, /box 1/);
  assert.match(text, /ball 2/);
});

test('what was saved starts where it was', async (t) => {
  const page = await opened(t);
  await page.mouse.move(300, 250);
  await page.keyboard.press('u');
  await eventually(page, () => window.karakuri.scene.links.length === 3);
  await send(page, { type: 'pause' });
  await until(page, (s) => s.paused && s.hash !== null);
  await eventually(page, () => window.karakuri.frame?.time === window.karakuri.status.time);
  const poses = await page.evaluate(() => [...window.karakuri.frame.poses]);
  const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  const again = await start(scene('again', readFileSync(await saved.path(), 'utf8')));
  const other = await open(browser, again.url);
  t.after(async () => {
    await other.close();
    await again.stop();
  });
  await send(other, { type: 'pause' });
  await send(other, { type: 'reset' });
  await until(other, (s) => s.paused && s.time === 0);
  await eventually(other, () => window.karakuri.frame.time === 0);
  const found = await other.evaluate(() => [...window.karakuri.frame.poses]);
  assert.equal(found.length, poses.length);
  // both are float32 of the same doubles but for quaternions, which are normalized anew
  found.forEach((x, i) => assert.ok(Math.abs(x - poses[i]) < 1e-6, `${i}: ${x} is not ${poses[i]}`));
});
