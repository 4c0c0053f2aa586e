// The page: one connection, and a view that is made anew for each scene that comes over it.
import './style.css';
import { Connection } from './connection';
import { byId, download, el } from './dom';
import { Drop } from './drop';
import { Help } from './help';
import type { Command, Frame, Properties, SceneMessage, ServerMessage, Settings, Status } from './protocol';
import { Plots } from './plots';
import { renderSize, sendPicture } from './render';
import { Stage } from './stage';
import { Transport } from './transport';
import { View } from './view';

const stage = new Stage(byId<HTMLCanvasElement>('stage'));
const drop = new Drop(stage, () => view?.solid ?? [], (command) => send(command));
const picture = renderSize();
const send = (command: Command): void => connection.send(command);
const plots = new Plots(byId('plots'), () => subscribe());
const transport = new Transport(byId('transport'), send, () => help.toggle());

let pending: SceneMessage | null = null;
let view: View | null = null;
let settings: Settings | null = null;
let properties: Properties | null = null;
let status: Status | null = null;
let frame: Frame | null = null;
let connected = false;
let firstPicture = 0; // [ms] since the page was asked for
let shown = ''; // name of the scene
const subscription = { number: -1, names: new Map<string, number>() };

function value(signal: string): number | undefined {
  const index = subscription.names.get(signal);
  return index === undefined || frame?.subscription !== subscription.number ? undefined : frame.values[index];
}

function subscribe(): void {
  const signals = [...new Set([...plots.signals, ...(view?.signals ?? [])])];
  connection.send({ type: 'subscribe', signals });
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
  byId('description').textContent = message.description;
  document.title = `${message.name} · karakuri`;
  view = new View(stage, message, geometry, {
    send, subscribe, plot: (signal) => plots.open(signal, [signal]), keepCamera: !first && message.name === shown,
  });
  shown = message.name;
  if (settings) view.panel.showSettings(settings);
  if (first) for (const plot of message.plots.slice(0, 2)) plots.open(plot.title || plot.signals.join(', '), plot.signals);
  subscribe();
}

function receive(message: ServerMessage): void {
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
    case 'status':
      status = message;
      transport.show(message);
      view?.panel.showStatus(message);
      view?.compare.showStatus(message);
      break;
    case 'signals':
      subscription.number = message.subscription;
      subscription.names = new Map(message.names.map((name, i) => [name, i]));
      break;
    case 'restarted':
      plots.clear();
      break;
    case 'problem':
      note([message.where, message.what, message.remedy].filter(Boolean).join(': '), 'problem');
      break;
  }
}

function takeFrame(next: Frame): void {
  frame = next;
  view?.take(next, performance.now());
  if (picture) return drawPicture();
  transport.showTime(next.time);
  if (next.subscription === subscription.number) plots.add(next.time, value);
  view?.showValues(value);
}

const connection = new Connection({
  message: receive,
  geometry: (block) => pending && show(pending, block),
  frame: takeFrame,
  file: (file) => download(file.name, file),
  state: (now) => {
    if (connected && !now) note('The connection is lost. Trying again…', 'problem');
    connected = now;
    document.body.classList.toggle('lost', !now);
  },
});

const overlay = (key: Parameters<View['toggle']>[0]) => () => view?.toggle(key);
const help = new Help(byId('help'), [
  { keys: [' '], shown: 'space', what: 'play or pause', action: () => transport.toggle() },
  { keys: ['.', 'ArrowRight'], shown: '.', what: 'one step', action: () => transport.step() },
  { keys: ['r', 'R'], shown: 'R', what: 'back to the start', action: () => transport.reset() },
  { keys: ['['], shown: '[', what: 'slower', action: () => transport.setSpeed((status?.speed ?? 1) / 2) },
  { keys: [']'], shown: ']', what: 'faster', action: () => transport.setSpeed((status?.speed ?? 1) * 2) },
  { keys: ['1'], shown: '1', what: 'real time', action: () => transport.setSpeed(1) },
  { keys: ['p', 'P'], shown: 'P', what: 'push the selected body away from the camera', action: () => view?.push() },
  { keys: ['b', 'B'], shown: 'B', what: 'drop a box where the pointer is', action: () => drop.drop('box') },
  { keys: ['o', 'O'], shown: 'O', what: 'drop a ball', action: () => drop.drop('ball') },
  { keys: ['l', 'L'], shown: 'L', what: 'drop a capsule', action: () => drop.drop('capsule') },
  { keys: ['f', 'F'], shown: 'F', what: 'look at the selected body', action: () => view?.focus() },
  { keys: ['c', 'C'], shown: 'C', what: 'contacts and forces', action: overlay('contacts') },
  { keys: ['x', 'X'], shown: 'X', what: 'collision shapes', action: overlay('collision') },
  { keys: ['j', 'J'], shown: 'J', what: 'joint axes', action: overlay('axes') },
  { keys: ['n', 'N'], shown: 'N', what: 'names', action: overlay('names') },
  { keys: ['k', 'K'], shown: 'K', what: 'keep: the present state as a scene file', action: () => send({ type: 'save' }) },
  { keys: ['i', 'I'], shown: 'I', what: 'picture as PNG', action: () => savePicture() },
  { keys: ['h', 'H'], shown: 'H', what: 'hide or show the panels', action: () => document.body.classList.toggle('bare') },
  { keys: ['?'], shown: '?', what: 'this help', action: () => help.toggle() },
]);

function savePicture(): void {
  stage.render();
  stage.canvas.toBlob((blob) => blob && download('karakuri.png', blob));
}

function drawPicture(): void {
  view?.update(Infinity); // as it came, not on the way to it
  sendPicture(stage, (bytes) => connection.sendBytes(bytes));
}

function draw(now: number): void {
  view?.update(now);
  stage.render();
  if (firstPicture === 0 && view && frame) firstPicture = performance.now();
  requestAnimationFrame(draw);
}
if (picture) {
  stage.fix(picture);
  document.body.classList.add('bare', 'picture');
} else {
  requestAnimationFrame(draw);
}

// For tests, and for the curious.
Object.assign(window, {
  karakuri: {
    send,
    value,
    plots,
    get status() { return status; },
    get frame() { return frame; },
    get scene() { return pending; },
    get settings() { return settings; },
    get properties() { return properties; },
    get firstPicture() { return firstPicture; },
    get connected() { return connected; },
    get ready() { return view !== null && frame !== null; },
    select: (link: number) => view?.select(link),
    screen: (link: number) => view?.screen(link),
  },
});
