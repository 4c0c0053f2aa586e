// What a person does with the page, done in a real browser against the real program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, scene, send, start, status, until } from './program.mjs';

const BOX = scene('box', `
name: box
description: one box on the ground
settings: {dt: 0.005}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.2]}
  - {name: arm, at: [1.2, 0, 1], joint: {name: hinge, kind: revolute, axis: [0, 1, 0]}, shapes: {capsule: {radius: 0.05, length: 0.4}, at: [0, 0, -0.25]}, mass: 1}
ui:
  - {slider: {name: aim, key: joint.hinge.target, min: -2, max: 2}}
controllers:
  - {joints: hinge, stiffness: 200, damping: 20}
view: {from: [1, -4, 1.5], to: [0.4, 0, 0.5]}
`);

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

async function opened(t, file = BOX, options = {}) {
  const program = await start(file, options);
  const page = await open(browser, program.url);
  t.after(async () => {
    await page.close();
    assert.equal(await program.stop(), 0, 'Ctrl-C ends it cleanly');
    assert.deepEqual(page.problems, []);
  });
  return { program, page };
}

test('loads, plays, pauses, steps and resets', async (t) => {
  const { page } = await opened(t);
  assert.equal(await page.textContent('#title'), 'box');
  await until(page, (s) => s.time > 0);
  const first = (await status(page)).time;
  await until(page, (s, time) => s.time > time + 0.2, first);
  await page.locator('#play').first().dispatchEvent('click');
  await until(page, (s) => s.paused);
  const paused = (await status(page)).time;
  await page.waitForTimeout(300);
  assert.equal((await status(page)).time, paused);
  await page.locator('#step').first().dispatchEvent('click');
  await until(page, (s, time) => s.time > time, paused);
  // one step of 5 ms and no more; times are sums of steps
  assert.ok(Math.abs((await status(page)).time - paused - 0.005) < 1e-9);
  await page.keyboard.press('r');
  await until(page, (s) => s.time === 0);
  await page.keyboard.press(' ');
  await until(page, (s) => !s.paused && s.time > 0.1);
});

test('a dragged body follows the pointer and falls when released', async (t) => {
  const { page } = await opened(t);
  const [x, y] = await page.evaluate(() => window.karakuri.screen(1));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - 60, { steps: 4 });
  await page.mouse.move(x, y - 120, { steps: 4 });
  await page.waitForFunction(() => window.karakuri.frame.poses[2] > 0.5, null, { timeout: 15000 });
  await page.mouse.up();
  await page.waitForFunction(() => window.karakuri.frame.poses[2] < 0.25, null, { timeout: 15000 });
});

test('what is edited changes the simulation', async (t) => {
  const { page } = await opened(t);
  await page.locator('#tree .row:has-text("box")').first().dispatchEvent('click');
  await page.fill('#inspector input[data-property=mass]', '5');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.karakuri.properties.links.box.mass === 5);
  // at rest on the ground the contact carries the new weight
  await page.waitForFunction(() => Math.abs(window.karakuri.value('link.box.fz') - 5 * 9.80665) < 0.5, null, { timeout: 15000 });
  await send(page, { type: 'set', key: 'ui.aim', value: 1 });
  await page.waitForFunction(() => {
    const [qw, , qy] = window.karakuri.frame.poses.slice(10, 13);
    return Math.abs(2 * Math.atan2(qy, qw) - 1) < 0.2; // gravity holds it back a little
  }, null, { timeout: 15000 });
  await send(page, { type: 'set', key: 'gravity', value: [0, 0, 3] });
  await page.waitForFunction(() => window.karakuri.frame.poses[2] > 1, null, { timeout: 15000 });
  await send(page, { type: 'set', key: 'nonsense', value: 1 });
  await page.waitForSelector('#notes .problem');
});

test('scrubs back and replays to the same hash', async (t) => {
  const { page } = await opened(t, 'double-pendulum');
  await until(page, (s) => s.time > 1);
  await send(page, { type: 'pause' });
  await until(page, (s) => s.paused);
  const end = await status(page);
  await page.$eval('#scrub', (slider) => {
    slider.value = '0.4';
    slider.dispatchEvent(new Event('input'));
    slider.dispatchEvent(new Event('change'));
  });
  await until(page, (s) => s.time <= 0.41);
  const back = await status(page);
  assert.notEqual(back.hash, end.hash);
  const dt = await page.evaluate(() => window.karakuri.settings.dt);
  await send(page, { type: 'step', count: Math.round((end.time - back.time) / dt) });
  await until(page, (s, time) => Math.abs(s.time - time) < 1e-9, end.time);
  assert.equal((await status(page)).hash, end.hash);
});

test('a click on a value plots it', async (t) => {
  const { page } = await opened(t);
  await page.locator('#tree .row:has-text("arm")').first().dispatchEvent('click');
  await page.locator('#inspector [data-signal="joint.hinge.q"]').first().dispatchEvent('click');
  await page.waitForSelector('#plots .plot canvas');
  await page.waitForFunction(() => window.karakuri.plots.points.at(-1) > 10);
  await page.keyboard.press('?');
  await page.waitForSelector('#help .card', { state: 'visible' });
});

test('two tabs see the same, and one that is lost is found again', async (t) => {
  const token = 'abcdefghijklmnop0123';
  const first = await start(BOX, { token });
  const one = await open(browser, first.url);
  const two = await open(browser, first.url);
  await send(one, { type: 'pause' });
  await until(two, (s) => s.paused && s.clients === 2);
  await two.close();
  assert.equal(await first.stop(), 0);
  await one.waitForFunction(() => !window.karakuri.connected);
  const second = await start(BOX, { token, port: first.port });
  t.after(async () => {
    await one.close();
    await second.stop();
  });
  await one.waitForFunction(() => window.karakuri.connected, null, { timeout: 20000 });
  await until(one, (s) => !s.paused && s.time > 0.2);
});
