// How long the first picture takes: from the start of the program, and where the time goes. A browser is running already.
import { eventually, launch, start } from './program.mjs';

const scenes = process.argv.slice(2);
const browser = await launch();
for (const name of scenes.length > 0 ? scenes : ['wall', 'arm', 'double-pendulum']) {
  const begin = performance.now();
  const program = await start(name);
  const said = performance.now();
  const page = await browser.newPage({ viewport: { width: 780, height: 400 } });
  await page.goto(program.url);
  await eventually(page, () => window.karakuri?.firstPicture > 0);
  const all = performance.now() - begin;
  const marks = await page.evaluate(() => {
    const [load] = performance.getEntriesByType('navigation');
    return { html: load.responseEnd, scripts: load.domContentLoadedEventEnd, picture: window.karakuri.firstPicture };
  });
  console.log(`${name}: ${all.toFixed(0)} ms; the program says its address after ${(said - begin).toFixed(0)}, then the page: ` +
    Object.entries(marks).map(([mark, at]) => `${mark} ${at.toFixed(0)}`).join(', '));
  await page.close();
  await program.stop();
}
await browser.close();
