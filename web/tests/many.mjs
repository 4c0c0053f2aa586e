// What a page costs with many boxes: [ms] of its own code for a picture, draw calls, pictures a second, and how long a
// click waits. node tests/many.mjs [COUNT ...]
import { launch, open, scene, send, start, until } from './program.mjs';

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
  const { links, costs, calls, rate, waits } = await page.evaluate(async () => {
    const { scene: { links: all }, costs: kept, stage } = window.karakuri;
    kept.length = 0;
    const [begin, before] = [performance.now(), stage.drawn];
    const late = [];
    for (let i = 0; i < 40 || (kept.length < 5 && i < 200); ++i) {
      const asked = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 100));
      late.push(performance.now() - asked - 100);
    }
    return { links: all.length - 1, costs: kept, calls: stage.renderer.info.render.calls, waits: late,
      rate: (1000 * (stage.drawn - before)) / (performance.now() - begin) };
  });
  const at = (some, share) => some.sort((a, b) => a - b)[Math.floor(share * (some.length - 1))]?.toFixed(1);
  const own = costs.map((c) => c.own);
  // all drawn again and again while nothing else runs: what the software that stands in for a graphics card gives
  await send(page, { type: 'pause' });
  await until(page, (status) => status.paused);
  const software = await page.evaluate(async () => {
    const { stage } = window.karakuri;
    const [begin, before] = [performance.now(), stage.drawn];
    while (performance.now() < begin + 3000) {
      stage.touch();
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return (1000 * (stage.drawn - before)) / (performance.now() - begin);
  });
  console.log(`${links} boxes: own code ${at(own, 0.5)} ms (90 % below ${at(own, 0.9)}), drawing ${at(costs.map((c) => c.drawing), 0.5)} ms, ` +
    `${calls} draw calls, ${rate.toFixed(1)} pictures a second in software (${software.toFixed(1)} while paused), a click waits ${at(waits, 0.5)} ms (at most ${at(waits, 1)})`);
  await page.close();
  await program.stop();
}
await browser.close();
