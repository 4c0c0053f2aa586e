// The real program and a real browser.
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

process.setMaxListeners(0); // one for each program that is started
const program = process.env.KARAKURI_PROGRAM;
const TRIES = 400;
const PAUSE = 50; // [ms]
const browserPath = process.env.KARAKURI_CHROMIUM ?? '/usr/bin/chromium';

/** Starts `karakuri run SCENE` and reads the address it says. */
export function start(scene, { port = 0, token = '' } = {}) {
  const child = spawn(program, ['run', scene, '--trust', '--port', String(port), '--no-browser', '--time', '100000'],
    { env: { ...process.env, KARAKURI_TOKEN: token }, stdio: ['ignore', 'pipe', 'pipe'] });
  process.on('exit', () => child.kill()); // also where a test has failed
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (data) => {
      said += data;
      const found = said.match(/http:\/\/\S+/);
      if (!found) return;
      for (const handle of [child, child.stdout, child.stderr]) handle.unref(); // a test that fails does not wait for it
      resolve({ url: found[0], port: Number(new URL(found[0]).port), stop: () => stop(child) });
    });
    child.on('exit', () => reject(new Error(`the program ended: ${said}`)));
  });
}

/** As Ctrl-C does; gives the exit code. */
function stop(child) {
  child.ref();
  return new Promise((resolve) => {
    child.on('exit', (code) => resolve(code));
    child.kill('SIGINT');
  });
}

/** Only WebGL goes through the software that stands in for a graphics card: what is drawn by it keeps all else waiting. */
export const launch = () => chromium.launch({
  executablePath: browserPath,
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-accelerated-2d-canvas', '--disable-gpu-rasterization'],
});

/** At the lowest quality: what is drawn in software takes its time from all else. */
export async function open(browser, url, { width = 1000, height = 600, quality = 0 } = {}) {
  const page = await browser.newPage({ viewport: { width, height } });
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (line) => line.type() === 'error' && page.problems.push(line.text()));
  await page.goto(`${url}&quality=${quality}`, { timeout: 120000, waitUntil: 'domcontentloaded' });
  await eventually(page, () => window.karakuri?.ready === true);
  return page;
}

export const status = (page) => page.evaluate(() => ({ ...window.karakuri.status }));
export const send = (page, command) => page.evaluate((c) => window.karakuri.send(c), command);
/** Waits until `test` of (status, argument) holds. */
export async function until(page, test, argument) {
  for (let i = 0; i < TRIES; ++i) {
    const now = await status(page);
    if (now.type && test(now, argument)) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error(`never happened: ${test}, but ${JSON.stringify(await status(page))}`);
}
/** Waits until `test` holds in the page. Playwright's own way makes functions from text there, which the page forbids. */
export async function eventually(page, test, argument) {
  for (let i = 0; i < TRIES; ++i) {
    if (await page.evaluate(test, argument)) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error(`never happened: ${test}`);
}

export function scene(name, text) {
  const file = join(mkdtempSync(join(tmpdir(), 'karakuri-page-')), `${name}.scene.yaml`);
  writeFileSync(file, text);
  return file;
}

// ---- what a hand does, without waiting for pictures, which are slow in software

export const click = (tab, selector, text = '', init = {}) => tab.evaluate(([where, what, how]) =>
  [...document.querySelectorAll(where)].find((e) => e.textContent.includes(what)).dispatchEvent(new MouseEvent('click', { bubbles: true, ...how })), [selector, text, init]);
/** As the keyboard would. */
export const type = (tab, selector, text) => tab.evaluate(([where, what]) => {
  const input = document.querySelector(where);
  input.focus();
  input.value = what;
  for (const event of ['input', 'change']) input.dispatchEvent(new Event(event));
  input.blur();
}, [selector, text]);
export const fill = (tab, property, text) => type(tab, `input[data-property="${property}"]`, text);
export const has = (tab, selector, text = '') => eventually(tab, ([where, what]) =>
  [...document.querySelectorAll(where)].some((e) => e.checkVisibility() && e.textContent.includes(what)), [selector, text]);
export const hasNot = (tab, selector) => eventually(tab, (where) => ![...document.querySelectorAll(where)].some((e) => e.checkVisibility()), selector);
