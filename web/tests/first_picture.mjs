// How long the first picture takes, of all bundled scenes or those that are named: [ms] until the program says its address,
// until the page has its scripts, and until the first picture is shown; the best of REPEAT (1) tries. A browser is running already.
import { execFileSync } from 'node:child_process';
import { eventually, launch, start } from './program.mjs';

const bundled = () => execFileSync(process.env.KARAKURI_PROGRAM, ['list'], { encoding: 'utf8' }).split('\n').map((line) => line.split(/\s/)[0]).filter(Boolean);
const scenes = process.argv.slice(2);
const tries = Number(process.env.REPEAT ?? 1);
const browser = await launch();

async function measure(name) {
  const begin = performance.now();
  const program = await start(name);
  const address = performance.now() - begin;
  const page = await browser.newPage({ viewport: { width: 780, height: 400 } });
  await page.goto(program.url, { waitUntil: 'commit' });
  await eventually(page, () => window.karakuri?.firstPicture > 0);
  const marks = await page.evaluate(() => [performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd, window.karakuri.firstPicture]);
  await page.close();
  await program.stop();
  return { address, scripts: address + marks[0], picture: address + marks[1] };
}

for (const name of scenes.length > 0 ? scenes : bundled()) {
  let best = { picture: Infinity };
  for (let i = 0; i < tries; ++i) {
    const one = await measure(name);
    if (one.picture < best.picture) best = one;
  }
  console.log(`${name}: ${Object.entries(best).map(([mark, at]) => `${mark} ${at.toFixed(0)}`).join(', ')}`);
}
await browser.close();
