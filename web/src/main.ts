// The page: one connection, and a view that is made anew for each scene that comes over it.
import './style.css';
import { Connection, type Refused, type Send } from './connection';
import { byId, download, el } from './dom';
import { Drop } from './drop';
import { Film } from './film';
import { Help, type Key } from './help';
import { OVERLAYS, type Overlay } from './overlays/overlays';
import { Plots } from './plots';
import { renderSize, sendPicture } from './render';
import type { Busy, Frame, Properties, SceneMessage, ServerMessage, Settings, Status } from './protocol';
import { Stage } from './stage';
import { Transport } from './transport';
import { View } from './view';

const stage = new Stage(byId<HTMLCanvasElement>('stage'));
const drop = new Drop(stage, () => view?.solid ?? [], (command) => send(command));
const picture = renderSize();
const send: Send = (command, refused) => connection.send(command, refused);
const plots = new Plots(byId('plots'), () => subscribe());
const film = new Film(stage.canvas, (filming) => transport.showFilming(filming));
const transport = new Transport(byId('transport'), send, {
  help: () => help.toggle(),
  picture: savePicture,
  film: () => film.toggle(fileName()),
  panels: togglePanels,
});

let pending: SceneMessage | null = null;
let view: View | null = null;
let settings: Settings | null = null;
let properties: Properties | null = null;
let status: Status | null = null;
let frame: Frame | null = null;
let connected = false;
let shown = ''; // name of the scene
let complete = false; // all that there is was in the last picture
let firstPicture = 0; // [ms] since the page was asked for
let asking: Refused | undefined;
const subscription = { number: -1, names: new Map<string, number>() };

function value(signal: string): number | undefined {
  const index = subscription.names.get(signal);
  return index === undefined || frame?.subscription !== subscription.number ? undefined : frame.values[index];
}

function subscribe(): void {
  const signals = [...new Set([...plots.signals, ...(view?.signals ?? [])])];
  connection.send({ type: 'subscribe', signals }, asking);
}

function plot(signal: string, add: boolean, refused?: Refused): void {
  asking = refused && ((why) => {
    plots.closeOf(signal);
    refused(why);
  });
  plots.plot(signal, add);
  asking = undefined;
}

function note(text: string, kind = ''): void {
  const line = el('p', kind, text);
  byId('notes').append(line);
  setTimeout(() => line.remove(), 6000);
}

function show(message: SceneMessage, geometry: ArrayBuffer): void {
  const first = view === null;
  view?.dispose();
  byId('title').textContent = message.name || 'karakuri';
  const code = message.code.length > 0 ? `Runs Python: ${message.code.join(', ')}` : '';
  byId('description').textContent = [message.description, code].filter(Boolean).join(' · ');
  document.title = `${message.name} · karakuri`;
  transport.setScene(message);
  frame = null;
  const again = !first && message.name === shown; // it was added to
  view = new View(stage, message, geometry, { send, subscribe, plot, keepCamera: again });
  shown = message.name;
  if (settings) view.panel.showSettings(settings);
  if (first) plots.offer(message.plots, innerHeight < 700 ? 1 : 2);
  else if (!again) plots.clear();
  subscribe();
}

function showHalted(why: string | null): void {
  const box = byId('halted');
  if (why !== null) box.querySelector('pre')!.textContent = why;
  box.hidden = why === null;
}

function showBusy(message: Busy | null): void {
  const box = byId('busy');
  if (message) box.textContent = `Busy with ${message.doing} for ${message.seconds.toFixed(1)} s. What you ask for follows.`;
  box.hidden = message === null;
}

let troubles = '';
function showTroubles(lines: string[]): void {
  if (lines.join('\n') === troubles) return;
  troubles = lines.join('\n');
  const box = byId<HTMLDetailsElement>('troubles');
  box.querySelector('summary')!.textContent = lines.length === 1 ? '1 problem' : `${lines.length} problems`;
  box.querySelector('ul')!.replaceChildren(...lines.map((line) => el('li', '', line)));
  box.hidden = lines.length === 0;
  box.open = true; // anew where it was folded
}

function receive(message: Exclude<ServerMessage, { type: 'problem' }>): void {
  switch (message.type) {
    case 'scene':
      pending = message;
      break;
    case 'settings':
      settings = message.settings;
      view?.panel.showSettings(settings);
      break;
    case 'properties':
      properties = message.properties;
      view?.showProperties(properties);
      break;
    case 'busy':
      showBusy(message);
      break;
    case 'status':
      status = message;
      showBusy(null);
      transport.show(message);
      showHalted(message.halted);
      showTroubles(message.troubles);
      view?.showStatus(message);
      break;
    case 'signals':
      subscription.number = message.subscription;
      subscription.names = new Map(message.names.map((name, i) => [name, i]));
      break;
    case 'restarted':
      plots.clear();
      break;
    case 'ui':
      view?.panel.setUi(message.ui);
      plots.offer(message.plots);
      subscribe();
      break;
  }
}

function takeFrame(next: Frame): void {
  if (next.poses.length !== 7 * ((pending?.links.length ?? 0) - 1)) return; // of before the scene was added to
  frame = next;
  view?.take(next, performance.now());
  if (picture) return drawPicture();
  transport.showTime(next.time);
  if (next.subscription !== subscription.number) return;
  plots.record(next.time, value);
  view?.showValues(value);
}

const connection = new Connection({
  message: receive,
  problem: (why) => note(why, 'problem'),
  geometry: (block) => pending && show(pending, block),
  frame: takeFrame,
  file: (file) => download(file.name, file),
  state: (now) => {
    connected = now;
    byId('lost').textContent = view ? 'The connection is lost. Trying again…' : 'Connecting…';
    document.body.classList.toggle('lost', !now);
  },
});

const overlay = (letter: string, key: Overlay): Key => ({
  keys: [letter.toLowerCase(), letter], shown: letter, what: OVERLAYS[key], action: () => view?.toggle(key),
});
const key = (letter: string, what: string, action: () => void): Key => ({ keys: [letter.toLowerCase(), letter], shown: letter, what, action });
const help = new Help(byId('help'), {
  Time: [
    { keys: [' '], shown: 'space', what: 'play or pause', action: () => transport.toggle() },
    { keys: ['.', 'ArrowRight'], shown: '. or →', what: 'one step', action: () => transport.step() },
    key('R', 'back to the start', () => transport.reset()),
    key('[', 'half as fast', () => transport.setSpeed((status?.speed ?? 1) / 2)),
    key(']', 'twice as fast', () => transport.setSpeed((status?.speed ?? 1) * 2)),
    key('1', 'real time', () => transport.setSpeed(1)),
  ],
  Bodies: [
    key('P', 'push the selected body away', () => view?.push()),
    key('D', 'drop a box where the pointer is', () => drop.drop('box')),
    key('O', 'drop a ball', () => drop.drop('ball')),
    key('U', 'drop a capsule', () => drop.drop('capsule')),
    key('F', 'look at the selected body, or at all', () => view?.focus()),
  ],
  Show: [
    overlay('C', 'contacts'), overlay('K', 'cones'), overlay('J', 'joints'), overlay('T', 'frames'), overlay('M', 'centres'),
    overlay('E', 'inertia'), overlay('X', 'collision'), overlay('B', 'bounds'), overlay('L', 'islands'), overlay('Z', 'sleeping'),
    overlay('N', 'names'),
  ],
  Page: [
    key('S', 'save the present state as a scene', () => send({ type: 'save', plots: plots.infos })),
    key('I', 'picture as PNG', savePicture),
    key('V', 'record a film as WebM; again: save it', () => film.toggle(fileName())),
    key('H', 'hide or show the panels', togglePanels),
    key('?', 'this help', () => help.toggle()),
  ],
});

/** On a phone they are hidden until they are asked for. */
function togglePanels(): void {
  document.body.classList.toggle(matchMedia('(max-width: 620px)').matches ? 'sheet' : 'bare');
}

function fileName(): string {
  return (pending?.name ?? '').replace(/[^\w-]+/g, '_') || 'karakuri';
}

function savePicture(): void {
  stage.canvas.toBlob((blob) => blob && download(`${fileName()}.png`, blob));
}

/** [ms] for the last pictures: what moves and marks bodies, and what hands all to the graphics card and waits for it. */
const costs: { own: number; drawing: number }[] = [];

function drawPicture(): void {
  view?.update(Infinity); // as it came, not on the way to it
  stage.touch();
  sendPicture(stage, (bytes) => connection.sendBytes(bytes));
}

function draw(now: number): void {
  const begin = performance.now();
  if (firstPicture === 0 && complete) firstPicture = begin; // shown by now, or about to be
  view?.update(now);
  const moved = performance.now();
  const drew = view !== null && frame !== null && stage.render(now);
  const drawn = performance.now();
  if (drew) view?.drawn();
  complete = view !== null && frame !== null;
  if (drew) costs.push({ own: performance.now() - drawn + moved - begin, drawing: drawn - moved });
  if (costs.length > 300) costs.shift();
  requestAnimationFrame(draw);
}
if (picture) {
  stage.fix(picture);
  document.body.classList.add('bare');
} else {
  requestAnimationFrame(draw);
}

// For tests, and for the curious.
Object.assign(window, {
  karakuri: {
    send, value, plots, costs, stage,
    get status() { return status; },
    get frame() { return frame; },
    get scene() { return pending; },
    get settings() { return settings; },
    get properties() { return properties; },
    get firstPicture() { return firstPicture; },
    get connected() { return connected; },
    get ready() { return firstPicture > 0 && frame !== null; },
    select: (link: number) => view?.choose({ link }),
    toggle: (which: Overlay) => view?.toggle(which),
    screen: (link: number) => view?.screen(link),
  },
});
