// How the simulation goes: time of each stage of a step, sizes, errors; each plotted by click.
import { button, el, short } from './dom';
import type { SceneMessage, Status } from './protocol';
import type { Surroundings } from './view';

const STAGES: Record<string, string> = {
  control: '#8d6a9f', dynamics: '#3f7cac', collision: '#e0b04c', rows: '#5b9279', solve: '#d9734e', integrate: '#4f9da6', finish: '#8b95a1',
};
const MOST_NAMES = 4000; // offered while one types

/** Title, signal, text. */
const FIGURES: [string, string | null, (s: Status) => string][] = [
  ['real time', null, (s) => (s.paused ? 'paused' : `${(s.realTimeFactor ?? 0).toFixed(2)} ×`)],
  ['contacts', 'step.contacts', (s) => String(s.contacts)],
  ['islands', 'step.islands', (s) => String(s.islands)],
  ['rows', 'step.rows', (s) => String(s.rows)],
  ['residual', 'step.residual', (s) => `${(s.residual ?? NaN).toExponential(1)} m/s`],
  ['penetration', 'step.penetration', (s) => `${short(1e3 * (s.penetration ?? NaN))} mm`],
  ['kinetic energy', 'energy.kinetic', (s) => `${short(s.kinetic ?? NaN)} J`],
  ['total energy', 'energy.total', (s) => `${short((s.kinetic ?? NaN) + (s.potential ?? NaN))} J`],
];

function signalsOf(message: SceneMessage): string[] {
  const names = ['energy.kinetic', 'energy.potential', 'energy.total', 'step.contacts', 'step.residual', 'step.sweeps'];
  for (const { name, q, kind } of message.joints) if (q > 0 && kind !== 'free') names.push(`joint.${name}.q`, `joint.${name}.v`, `joint.${name}.tau`);
  for (const { name } of message.links.slice(1)) names.push(...['px', 'py', 'pz', 'vx', 'vy', 'vz', 'fz'].map((p) => `link.${name}.${p}`));
  return names.slice(0, MOST_NAMES);
}

export class Figures {
  readonly root = el('div');
  private readonly bars = new Map<string, { bar: HTMLElement; text: HTMLElement }>();
  private readonly step = el('b');
  private readonly outputs = new Map<string, HTMLElement>();

  constructor(around: Surroundings, message: SceneMessage) {
    const stages = el('div', 'stages');
    for (const [stage, color] of Object.entries(STAGES)) {
      const bar = el('i');
      bar.style.background = color;
      const text = el('b');
      const track = el('div');
      track.append(bar);
      stages.append(el('span', '', stage), track, text);
      this.bars.set(stage, { bar, text });
    }
    stages.append(el('span', '', 'step'), el('div'), this.step);
    const table = el('div', 'figures');
    for (const [title, signal] of FIGURES) {
      const output = signal
        ? button('–', `Plot ${signal} (with shift: in the last plot)`, (event) => around.plot(signal, event.shiftKey))
        : el('b');
      if (signal) output.dataset.signal = signal;
      this.outputs.set(title, output);
      table.append(el('span', '', title), output);
    }
    this.root.append(stages, table, this.search(around, message));
  }

  /** Plots any signal by name. */
  private search(around: Surroundings, message: SceneMessage): HTMLElement {
    const row = el('div', 'search');
    const input = el('input');
    input.type = 'search';
    input.placeholder = 'Plot a signal, such as energy.total';
    input.setAttribute('aria-label', 'Plot a signal');
    input.id = 'signal';
    const list = el('datalist');
    list.id = 'signals';
    input.setAttribute('list', list.id);
    const why = el('em');
    input.onfocus = () => {
      if (list.childElementCount === 0) list.append(...signalsOf(message).map((name) => Object.assign(el('option'), { value: name })));
    };
    input.onchange = () => {
      const signal = input.value.trim();
      if (!signal) return;
      why.textContent = '';
      around.plot(signal, false, (text) => (why.textContent = text));
      input.value = '';
      input.blur();
    };
    row.append(input, list, why);
    return row;
  }

  show(status: Status): void {
    const total = Object.values(status.times).reduce((a, b) => a + b, 0);
    for (const [stage, { bar, text }] of this.bars) {
      const seconds = status.times[stage] ?? 0;
      bar.style.width = `${total > 0 ? (100 * seconds) / total : 0}%`;
      text.textContent = `${(1e6 * seconds).toFixed(0)} µs`;
    }
    this.step.textContent = `${(1e3 * total).toFixed(3)} ms`;
    for (const [title, , text] of FIGURES) this.outputs.get(title)!.textContent = text(status);
  }
}
