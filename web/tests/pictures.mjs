// Pictures of scenes as the page shows them: node tests/pictures.mjs FOLDER SCENE[:SECONDS[:OVERLAY,...[:LINK]]] ...
// with KARAKURI_PROGRAM as for the tests; LINK is selected; SIZE=1120x630 where another is wished.
import { join } from 'node:path';
import { launch, open, send, start, status, until } from './program.mjs';

const [folder, ...wanted] = process.argv.slice(2);
const [width, height] = (process.env.SIZE ?? '1120x630').split('x').map(Number);
const browser = await launch();
for (const one of wanted) {
  const [scene, seconds = '1', overlays = '', link = ''] = one.split(':');
  const program = await start(scene);
  const page = await open(browser, program.url, { width, height, quality: 3 });
  await send(page, { type: 'pause' }); // steps are asked for below: drawing in software takes its time
  for (const overlay of overlays.split(',').filter(Boolean)) await page.evaluate((key) => window.karakuri.toggle(key), overlay);
  if (link) await page.evaluate((name) => window.karakuri.select(window.karakuri.scene.links.findIndex((l) => l.name === name)), link);
  const dt = await page.evaluate(() => window.karakuri.settings.dt);
  for (let left = Math.round((Number(seconds) - (await status(page)).time) / dt); left > 0; left -= 100) {
    const next = (await status(page)).time + dt * Math.min(100, left);
    await send(page, { type: 'step', count: Math.min(100, left) });
    await until(page, (s, time) => s.time > time - dt / 2, next);
  }
  await page.waitForTimeout(600);
  const name = scene.split('/').at(-1).replace(/\.\w+.*$/, '');
  await page.screenshot({ path: join(folder, `${name}.png`), timeout: 120000 });
  if (page.problems.length) console.error(name, page.problems);
  await page.close();
  await program.stop();
}
await browser.close();
