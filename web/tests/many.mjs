// What a page costs with many boxes: [ms] of its own code for a picture, draw calls. node tests/many.mjs [COUNT ...]
import { launch, open, scene, start, until } from './program.mjs';

const counts = process.argv.slice(2).map(Number);
const browser = await launch();
for (const count of counts.length > 0 ? counts : [1000, 5000]) {
  const edge = Math.round(Math.cbrt(count));
  const file = scene(`boxes-${count}`, `
name: ${count} boxes
settings: {dt: 0.01, threads: 2, sleep: {enabled: false}}
ground: true
bodies:
  - name: box
    at: [${-0.25 * edge}, ${-0.25 * edge}, 1]
    shapes: {box: [0.2, 0.2, 0.2]}
    repeat:
      - {count: ${Math.ceil(count / edge / edge)}, offset: [0, 0, 0.5]}
      - {count: ${edge}, offset: [0.5, 0, 0]}
      - {count: ${edge}, offset: [0, 0.5, 0]}
view: {from: [10, -14, 9], to: [0, 0, 3]}
`);
  const program = await start(file);
  const page = await open(browser, program.url, { quality: 1 });
  await until(page, (s) => s.time > 0.3);
  await page.waitForTimeout(4000);
  const { links, costs, calls, drawn } = await page.evaluate(() => ({
    links: window.karakuri.scene.links.length - 1,
    costs: window.karakuri.costs.slice(5),
    calls: window.karakuri.stage.renderer.info.render.calls,
    drawn: window.karakuri.stage.drawn,
  }));
  costs.sort((a, b) => a - b);
  const at = (share) => costs[Math.floor(share * (costs.length - 1))].toFixed(2);
  console.log(`${links} boxes: median ${at(0.5)} ms, 90 % below ${at(0.9)} ms, ${calls} draw calls, ${drawn} pictures`);
  await page.close();
  await program.stop();
}
await browser.close();
