// What stands in the panels: values, settings, figures, plots; and the keys that act on the selected body.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { click, eventually, fill, has, hasNot, launch, open, scene, send, start, status, type, until } from './program.mjs';

// A four-bar with a loop, a box on the ground, and a plot of the scene's own.
const MIXED = scene('mixed', `
name: mixed
settings: {dt: 0.005}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.2]}
  - {name: left, at: [1, 0, 1.2], joint: {name: left, kind: revolute, axis: [0, 1, 0]}, shapes: {box: [0.05, 0.05, 0.5], at: [0, 0, -0.25]}, mass: 1}
  - {name: bar, parent: left, at: [0, 0, -0.5], joint: {name: low-left, kind: revolute, axis: [0, 1, 0]}, shapes: {box: [0.6, 0.05, 0.05], at: [0.3, 0, 0]}, mass: 1}
  - {name: right, at: [1.6, 0, 1.2], joint: {name: right, kind: revolute, axis: [0, 1, 0]}, shapes: {box: [0.05, 0.05, 0.5], at: [0, 0, -0.25]}, mass: 1}
loops:
  - {name: ring, parent: bar, child: right, axis: [0, 1, 0], in_parent: {at: [0.6, 0, 0]}}
plots:
  - {title: swing, signals: [joint.left.q, joint.right.q]}
view: {from: [1, -4, 1.5], to: [0.6, 0, 0.5]}
`);

let browser;
let program;
let page;
before(async () => {
  browser = await launch();
  program = await start(MIXED);
  page = await open(browser, program.url);
});
after(async () => {
  await browser.close();
  assert.equal(await program.stop(), 0);
});
beforeEach(async () => {
  await send(page, { type: 'speed', value: 1 });
  await send(page, { type: 'reset' });
  await send(page, { type: 'play' });
  await until(page, (s) => !s.paused && s.speed === 1 && s.time < 5);
});
afterEach(() => assert.deepEqual(page.problems, []));

const choose = (name, value) => page.evaluate(([what, option]) => {
  const select = [...document.querySelectorAll('#panel .lil-controller')]
    .find((c) => c.querySelector('.lil-name')?.textContent === what).querySelector('select');
  select.value = option;
  select.dispatchEvent(new Event('change'));
}, [name, value]);
const signature = (bytes) => bytes.subarray(1, 4).toString();

test('the tree has links, joints and loops; the selected one is told', async () => {
  for (const name of ['box', 'left', 'bar', 'right', 'ring']) await has(page, '#tree .row', name);
  await click(page, '#tree .row', 'ring');
  await has(page, '#inspector', 'closes a loop');
  await click(page, '#inspector button', 'open');
  await eventually(page, () => Math.abs(window.karakuri.value('joint.left.q') - window.karakuri.value('joint.right.q')) > 1e-3);
  await send(page, { type: 'reset' });
  await click(page, '#tree .row', 'bar');
  await has(page, '#inspector h3', 'low-left');
});

test('a key pushes the selected body away', async () => {
  await click(page, '#tree .row', 'box');
  await page.keyboard.press('p');
  await eventually(page, () => window.karakuri.frame.poses[1] > 0.05); // away from who looks along +y
});

test('without friction it goes on', async () => {
  await click(page, '#tree .row', 'box');
  await fill(page, 'friction', '0');
  await eventually(page, () => window.karakuri.properties.links.box.friction === 0);
  await page.keyboard.press('p');
  await eventually(page, () => window.karakuri.frame.poses[1] > 0.3);
  const speed = await page.evaluate(() => window.karakuri.value('link.box.vy'));
  await until(page, (s, time) => s.time > time, (await status(page)).time + 0.5);
  assert.ok(Math.abs((await page.evaluate(() => window.karakuri.value('link.box.vy'))) / speed - 1) < 1e-3);
  await fill(page, 'friction', '0.5');
  await eventually(page, () => window.karakuri.properties.links.box.friction === 0.5);
});

test('settings of the world are applied at once, and told to all', async (t) => {
  const other = await open(browser, program.url, { width: 300, height: 200 });
  t.after(() => other.close());
  await click(page, '#panel .lil-title', 'World');
  await choose('solver', 'springhead');
  await choose('contact model', 'pyramid');
  await fill(page, 'tolerance', '1e-9');
  await fill(page, 'max_sweeps', '77');
  for (const tab of [page, other])
    await eventually(tab, () => {
      const { solver, contact, tolerance, max_sweeps: sweeps } = window.karakuri.settings;
      return solver === 'springhead' && contact === 'pyramid' && tolerance === 1e-9 && sweeps === 77;
    });
  await fill(page, 'tolerance', 'much');
  await has(page, '.field.refused:has(input[data-property="tolerance"]) em', 'not a number');
  await fill(page, 'tolerance', '1e-8');
  await hasNot(page, '.field.refused');
});

test('the speed goes from a hundredth to ten times', async () => {
  const tune = (x) => page.$eval('#transport .speed', (slider, value) => {
    slider.value = value;
    for (const event of ['input', 'change']) slider.dispatchEvent(new Event(event));
  }, String(x));
  await tune(-2);
  await until(page, (s) => Math.abs(s.speed - 0.01) < 1e-12);
  const { time } = await status(page);
  await page.waitForTimeout(500);
  assert.ok((await status(page)).time < time + 0.1, 'a second and more would be real time');
  await tune(1);
  await until(page, (s) => Math.abs(s.speed - 10) < 1e-12);
  await until(page, (s, before) => s.time > before + 3, (await status(page)).time);
});

test('figures of the step', async () => {
  await click(page, '#panel .lil-title', 'Figures');
  await until(page, (s) => s.contacts === 4 && s.realTimeFactor > 0);
  await eventually(page, () => {
    const told = (name) => [...document.querySelectorAll('.figures span')].find((e) => e.textContent === name)?.nextSibling.textContent;
    return told('contacts') === '4' && parseFloat(told('residual')) >= 0 && parseFloat(told('penetration')) >= 0;
  });
  const bars = await page.$$eval('.stages i', (all) => all.map((bar) => parseFloat(bar.style.width)));
  assert.ok(Math.abs(bars.reduce((a, b) => a + b) - 100) < 0.1, 'shares of a whole');
});

test('plots are those of the scene, saved as CSV and PNG, and with the scene', async (t) => {
  await eventually(page, () => window.karakuri.plots.points[0] > 20);
  const [csv] = await Promise.all([page.waitForEvent('download'), click(page, '#plots button', 'CSV')]);
  const [head, ...lines] = readFileSync(await csv.path(), 'utf8').trim().split('\n');
  assert.equal(head, 'time,joint.left.q,joint.right.q');
  const rows = lines.map((line) => line.split(',').map(Number));
  assert.ok(rows.length > 20 && rows.every((row, i) => i === 0 || row[0] > rows[i - 1][0]), 'in the order of time');
  const [png] = await Promise.all([page.waitForEvent('download'), click(page, '#plots button', 'PNG')]);
  assert.equal(signature(readFileSync(await png.path())), 'PNG');

  await type(page, '#signal', 'energy.total');
  await eventually(page, () => window.karakuri.plots.infos.length === 2);
  const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  const again = await start(scene('again', readFileSync(await saved.path(), 'utf8')));
  const other = await open(browser, again.url, { height: 800 });
  t.after(async () => {
    await other.close();
    await again.stop();
  });
  assert.deepEqual(await other.evaluate(() => window.karakuri.plots.infos), [
    { title: 'swing', signals: ['joint.left.q', 'joint.right.q'] }, { title: 'energy.total', signals: ['energy.total'] }]);
});

test('on a phone the panels come when they are asked for', async (t) => {
  const phone = await open(browser, program.url, { width: 390, height: 700 });
  t.after(() => phone.close());
  await hasNot(phone, '#panel');
  await click(phone, '#transport [data-action="panels"]');
  await has(phone, '#panel .chips');
  const box = await phone.evaluate(() => document.querySelector('#panel').getBoundingClientRect().toJSON());
  assert.ok(box.left >= 0 && box.right <= 390 && box.bottom <= 700);
  await click(phone, '#transport [data-action="panels"]');
  await hasNot(phone, '#panel');
});
