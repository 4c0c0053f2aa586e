// What a person does with the page, done in a real browser against the real program.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { click, eventually, fill, has, hasNot, launch, open, scene, send, start, status, type, until } from './program.mjs';

const BOX = scene('box', `
name: box
description: one box on the ground, one arm in the air
settings: {dt: 0.005}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.2]}
  - {name: arm, at: [1.2, 0, 1], joint: {name: hinge, kind: revolute, axis: [0, 1, 0], limits: [-2, 2]}, shapes: {capsule: {radius: 0.05, length: 0.4}, at: [0, 0, -0.25]}, mass: 1}
sensors:
  - {name: angle, kind: joint-position, joint: hinge}
ui:
  - slider: {name: aim, key: joint.hinge.target, min: -2, max: 2}
  - button: {name: kick, do: {force: {link: box, force: [0, 0, 400], duration: 0.1}}}
  - text: {text: "hinge at {joint.hinge.q}"}
controllers:
  - {joints: hinge, stiffness: 200, damping: 20}
view: {from: [1, -4, 1.5], to: [0.4, 0, 0.5]}
`);
const WEIGHT = 2 * 9.81;

let browser;
let program;
let page;
before(async () => {
  browser = await launch();
  program = await start(BOX);
  page = await open(browser, program.url);
});
after(async () => {
  await browser.close();
  assert.equal(await program.stop(), 0, 'Ctrl-C ends it cleanly');
});
beforeEach(async () => {
  await send(page, { type: 'speed', value: 1 });
  await send(page, { type: 'reset' });
  await send(page, { type: 'play' });
  await until(page, (s) => !s.paused && s.speed === 1);
  // from the start again
  await eventually(page, () => window.karakuri.frame.time < 10 && Math.hypot(...window.karakuri.frame.poses.subarray(0, 2)) < 1e-3);
});
afterEach(() => assert.deepEqual(page.problems, []));

const height = (page) => page.evaluate(() => window.karakuri.frame.poses[2]);

test('loads, plays, pauses, steps and resets', async () => {
  assert.equal(await page.textContent('#title'), 'box');
  const first = (await status(page)).time;
  await until(page, (s, time) => s.time > time + 0.2, first);
  await click(page, '#play');
  await until(page, (s) => s.paused);
  const paused = (await status(page)).time;
  await page.waitForTimeout(300);
  assert.equal((await status(page)).time, paused);
  await click(page, '#step');
  await until(page, (s, time) => s.time > time, paused);
  // one step of 5 ms and no more; times are sums of steps
  assert.ok(Math.abs((await status(page)).time - paused - 0.005) < 1e-9);
  await page.keyboard.press('r');
  await until(page, (s) => s.time === 0);
  await page.keyboard.press(' ');
  await until(page, (s) => !s.paused && s.time > 0.1);
  await page.keyboard.press(']');
  await until(page, (s) => s.speed === 2);
});

/** Where the box is in a picture that shows it as it is: what is not seen there cannot be taken hold of. */
async function shownBox() {
  const drawn = await page.evaluate(() => window.karakuri.stage.drawn);
  await eventually(page, (before) => window.karakuri.stage.drawn > before + 1, drawn);
  return page.evaluate(() => window.karakuri.screen(1));
}

test('a dragged body follows the pointer and falls when released', async () => {
  const [x, y] = await shownBox();
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - 60, { steps: 3 });
  await page.mouse.move(x, y - 120, { steps: 3 });
  await eventually(page, () => window.karakuri.frame.poses[2] > 0.5);
  // it hangs below the pointer by half its edge and what the spring gives way, g / (2 pi 2.5 Hz)^2 = 4 cm: 42 px
  await eventually(page, ([px, py]) => {
    const [bx, by] = window.karakuri.screen(1);
    return Math.hypot(bx - px, by - py) < 60;
  }, [x, y - 120]);
  await page.mouse.up();
  await eventually(page, () => window.karakuri.frame.poses[2] < 0.3);
});

test('a finger drags too, and a second one does not let go', async () => {
  const [x, y] = await shownBox();
  const touch = await page.context().newCDPSession(page);
  const points = (type, ...at) => touch.send('Input.dispatchTouchEvent', { type, touchPoints: at.map(([px, py], id) => ({ x: px, y: py, id })) });
  await points('touchStart', [x, y]);
  for (const up of [20, 60, 120]) await points('touchMove', [x, y - up]);
  await points('touchStart', [x, y - 120], [x + 100, y]);
  await eventually(page, () => window.karakuri.frame.poses[2] > 0.5);
  await points('touchEnd');
  await eventually(page, () => window.karakuri.frame.poses[2] < 0.3);
});

test('what is edited changes the simulation, and what is refused is told where it was typed', async () => {
  await click(page, '#tree .row', 'box');
  await fill(page, 'mass', '5');
  await eventually(page, () => window.karakuri.properties.links.box.mass === 5);
  // at rest on the ground the contact carries the new weight
  await eventually(page, () => Math.abs(window.karakuri.value('link.box.fz') - 5 * 9.81) < 0.5);
  await fill(page, 'mass', '-1');
  await has(page, '.field.refused:has(input[data-property="mass"]) em', 'positive');
  await fill(page, 'mass', '2');
  await hasNot(page, '.field.refused');
  await eventually(page, (weight) => Math.abs(window.karakuri.value('link.box.fz') - weight) < 0.2, WEIGHT);

  await click(page, '#tree .row', 'arm');
  await eventually(page, () => document.querySelector('input[data-property="drive.stiffness"]').value === '200');
  await fill(page, 'drive.target', '1');
  await eventually(page, () => Math.abs(window.karakuri.value('joint.hinge.q') - 1) < 0.2); // gravity holds it back
  await fill(page, 'upper', '0.5');
  await eventually(page, () => Math.abs(window.karakuri.value('joint.hinge.q') - 0.5) < 0.02);
  await fill(page, 'upper', '');
  await eventually(page, () => window.karakuri.value('joint.hinge.q') > 0.8);

  await click(page, '#panel .lil-title', 'World');
  await fill(page, 'dt', '0.002');
  await eventually(page, () => window.karakuri.settings.dt === 0.002);
  await fill(page, 'dt', '-1');
  await has(page, '.field.refused:has(input[data-property="dt"])');
  await fill(page, 'gravity.z', '3');
  await eventually(page, () => window.karakuri.frame.poses[2] > 1);
  await send(page, { type: 'set', key: 'nonsense', value: 1 });
  await has(page, '#notes .problem');
  await send(page, { type: 'set', key: 'gravity', value: [0, 0, -9.81] });
  await send(page, { type: 'set', key: 'settings.dt', value: 0.005 });
  await send(page, { type: 'set', key: 'joint.hinge.target', value: 0 });
});

test("the scene's slider, button and text reach the session", async () => {
  await type(page, '#panel .lil-number input', '1');
  await eventually(page, () => Math.abs(window.karakuri.value('joint.hinge.q') - 1) < 0.2);
  await eventually(page, () => /hinge at (0\.[89]|1\.)/.test(document.querySelector('#panel .text').textContent));
  await click(page, '#panel .lil-controller button', 'kick');
  // 400 N for 0.1 s against its weight: up with 19 m/s
  await eventually(page, () => window.karakuri.frame.poses[2] > 2);
  await send(page, { type: 'set', key: 'ui.aim', value: 0 });
});

test('scrubs back and replays to the same hash', async () => {
  await until(page, (s) => s.time > 0.8);
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
  await send(page, { type: 'step', count: Math.round((end.time - back.time) / 0.005) });
  await until(page, (s, time) => Math.abs(s.time - time) < 1e-9, end.time);
  assert.equal((await status(page)).hash, end.hash);
});

test('a click on a value plots it, with shift beside another, any signal by name', async () => {
  await click(page, '#tree .row', 'arm');
  await click(page, '#inspector [data-signal="joint.hinge.q"]');
  await has(page, '#plots .plot');
  await eventually(page, () => window.karakuri.plots.points.at(-1) > 10);
  await click(page, '#inspector [data-signal="joint.hinge.v"]', '', { shiftKey: true });
  await eventually(page, () => window.karakuri.plots.infos.length === 1 && window.karakuri.plots.infos[0].signals.length === 2);
  await click(page, '#panel .lil-title', 'Figures');
  await type(page, '#signal', 'energy.total');
  await eventually(page, () => window.karakuri.plots.points.length === 2 && window.karakuri.plots.points[1] > 5);
  await type(page, '#signal', 'energy.totel');
  await has(page, '.search em', 'totel');
  const [csv] = await page.evaluate(() => window.karakuri.plots.csv);
  const [head, ...lines] = csv.trim().split('\n');
  assert.equal(head, 'time,joint.hinge.q,joint.hinge.v');
  assert.ok(lines.length > 10 && lines.at(-1).split(',').every((x) => Number.isFinite(Number(x))));
});

// Ticks that are nearer to each other than doubles are would be counted for ever.
test('plots of values that hardly change do not stop the page, and their ticks can be told apart', { timeout: 60000 }, async () => {
  const found = await page.evaluate(async () => {
    const root = document.createElement('div');
    document.body.append(root);
    const signals = {
      constant: () => 0.3,
      rounding: (i) => 1 + (i % 2) * 2.3e-16,
      noise: (i) => 1e-17 * (i % 3 - 1),
      small: (i) => 0.3 + 2e-6 * i,
      tiny: (i) => 1e-300 * i,
      far: (i) => 9.81e12 + 0.002 * i,
      huge: (i) => 1e300 * (1 - (i % 2)),
      widest: (i) => (i % 2 ? 1 : -1) * Number.MAX_VALUE,
      nothing: () => NaN,
    };
    const charts = [];
    for (const name of Object.keys(signals)) {
      const plots = new window.karakuri.plots.constructor(root, () => {});
      plots.open('', [name]);
      for (let i = 0; i < 8; ++i) {
        plots.record(1000 + 1e-9 * i, signals[name].bind(null, i));
        if (i === 0 || i > 5) await new Promise((resolve) => setTimeout(resolve, 80)); // drawn every 66 ms
      }
      charts.push({ name, points: plots.points, ticks: plots.ticks[0] });
    }
    root.remove();
    return charts;
  });
  for (const { name, points, ticks } of found) {
    assert.deepEqual(points, [8], name);
    for (const axis of ticks) assert.equal(new Set(axis).size, axis.length, `${name}: ${axis}`);
    // uPlot draws no ticks above 1e15
    if (!['nothing', 'huge', 'widest'].includes(name)) assert.ok(ticks[1].length >= 2 && ticks[1].length < 10, `${name}: ${ticks[1]}`);
  }
});

test('pictures and help', async () => {
  await page.keyboard.press('?');
  await has(page, '#help .card');
  await page.keyboard.press('Escape');
  await hasNot(page, '#help .card');
  const picture = page.waitForEvent('download');
  await page.keyboard.press('i');
  assert.equal((await picture).suggestedFilename(), 'box.png');
  const png = readFileSync(await (await picture).path());
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], await page.evaluate(() => {
    const { width, height: high } = document.querySelector('#stage');
    return [width, high];
  }));
});

test('overlays ask for what they need, and are drawn', async () => {
  await eventually(page, () => window.karakuri.frame.contacts.length === 0 && window.karakuri.frame.boxes.length === 0);
  for (const letter of 'ckjtmexblzn') await page.keyboard.press(letter);
  assert.equal(await page.evaluate(() => document.querySelectorAll('.chips [aria-pressed="true"]').length), 11);
  // four corners of the box, together they carry it
  await eventually(page, (weight) => {
    const { contacts, boxes, islands } = window.karakuri.frame;
    let force = 0;
    for (let i = 0; i < contacts.length; i += 11) force += contacts[i + 5];
    return contacts.length === 44 && Math.abs(Math.abs(force) - weight) < 0.1 && boxes.length === 12 && islands.length === 2;
  }, WEIGHT);
  await has(page, '#labels span', 'box');
  const { boxes, contacts } = await page.evaluate(() => {
    const { boxes: b, contacts: c } = window.karakuri.frame;
    return { boxes: [...b], contacts: [...c.subarray(0, 11)] };
  });
  const near = (some) => some.every((x, i) => Math.abs(x - [-0.2, -0.2, 0, 0.2, 0.2, 0.4][i]) < 1e-3);
  assert.ok(near(boxes.slice(0, 6)) || near(boxes.slice(6)));
  assert.ok(Math.abs(Math.abs(contacts[8]) - 1) < 1e-6, 'the normal is vertical');
  assert.equal(contacts[9], 0.5);
  assert.equal(contacts[10], 1, 'it sticks');
});

test('two tabs see the same', async (t) => {
  const one = page;
  const two = await open(browser, program.url, { width: 300, height: 200 });
  t.after(() => two.close());
  await send(one, { type: 'pause' });
  await until(two, (s) => s.paused && s.clients === 2);
  await until(one, (s) => s.paused);
  await eventually(two, (time) => window.karakuri.frame.time === time, (await status(one)).time);
  const both = await Promise.all([one, two].map((tab) => tab.evaluate(() => [...window.karakuri.frame.poses])));
  assert.deepEqual(both[0], both[1]);
  await send(two, { type: 'play' });
  await until(one, (s) => !s.paused);
});

test('a page finds the next run of the program', async (t) => {
  const token = 'abcdefghijklmnop0123';
  const first = await start(BOX, { token });
  const lost = await open(browser, first.url, { width: 300, height: 200 });
  await until(lost, (s) => s.time > 0.1);
  assert.equal(await first.stop(), 0);
  await eventually(lost, () => !window.karakuri.connected && document.body.classList.contains('lost'));
  const second = await start(BOX, { token, port: first.port });
  t.after(async () => {
    await lost.close();
    await second.stop();
  });
  await eventually(lost, () => window.karakuri.connected);
  await until(lost, (s) => !s.paused && s.time > 0.1);
  await eventually(lost, () => window.karakuri.ready); // the status may come before the first frame
  assert.ok((await height(lost)) < 0.3);
});

// The last one: encoding in software takes its time from all else.
test('a film is recorded', async () => {
  await page.keyboard.press('v');
  await has(page, '#transport .on');
  const drawn = await page.evaluate(() => window.karakuri.stage.drawn);
  await eventually(page, (before) => window.karakuri.stage.drawn > before + 5, drawn);
  const film = page.waitForEvent('download', { timeout: 90000 });
  await page.keyboard.press('v');
  assert.equal((await film).suggestedFilename(), 'box.webm');
  const bytes = readFileSync(await (await film).path());
  assert.equal(bytes.subarray(0, 4).toString('hex'), '1a45dfa3', 'how WebM begins');
  assert.ok(bytes.includes('V_VP8') && bytes.length > 2000, `${bytes.length} bytes`);
  await hasNot(page, '#transport .on');
});
