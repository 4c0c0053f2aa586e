// Pictures of scenes as the page shows them: node tests/pictures.mjs FOLDER SCENE[:SECONDS[:OVERLAY,...]] ...
// with KARAKURI_PROGRAM as for the tests; SIZE=1280x720 and SELECT=LINK where others are wished.
import { join } from 'node:path';
import { launch, open, send, start, until } from './program.mjs';

const [folder, ...wanted] = process.argv.slice(2);
const [width, height] = (process.env.SIZE ?? '1280x720').split('x').map(Number);
const browser = await launch();
for (const one of wanted) {
  const [scene, seconds = '1', overlays = ''] = one.split(':');
  const program = await start(scene);
  const page = await open(browser, program.url, { width, height, quality: 4 });
  for (const overlay of overlays.split(',').filter(Boolean)) await page.evaluate((key) => window.karakuri.toggle(key), overlay);
  if (process.env.SELECT) await page.evaluate((name) => window.karakuri.select(window.karakuri.scene.links.findIndex((l) => l.name === name)), process.env.SELECT);
  await until(page, (s, time) => s.time >= time, Number(seconds));
  await send(page, { type: 'pause' });
  await page.waitForTimeout(600);
  const name = scene.split('/').at(-1).replace(/\.\w+.*$/, '');
  await page.screenshot({ path: join(folder, `${name}${overlays ? `-${overlays}` : ''}.png`) });
  if (page.problems.length) console.error(name, page.problems);
  await page.close();
  await program.stop();
}
await browser.close();
