// The tree of links, and the values of the one that is selected: live, plotted by click, edited in place.
import { button, el, short } from './dom';
import type { Command, JointInfo, Properties, SceneMessage } from './protocol';

const MOST_ROWS = 3000;

export class Tree {
  private readonly rows: HTMLElement[] = [];

  constructor(root: HTMLElement, filter: HTMLInputElement, message: SceneMessage, select: (link: number) => void) {
    const children = new Map<number, number[]>();
    message.links.forEach((link, i) => {
      if (i > 0) children.set(link.parent, [...(children.get(link.parent) ?? []), i]);
    });
    const jointOf = new Map(message.joints.filter((j) => !j.loop).map((j) => [j.child, j]));
    const list: HTMLElement[] = [];
    const visit = (link: number, depth: number): void => {
      if (list.length >= MOST_ROWS) return;
      const row = el('div', 'row', message.links[link]!.name);
      row.setAttribute('role', 'treeitem');
      row.style.paddingLeft = `${0.6 + 0.7 * Math.min(depth, 12)}rem`;
      const joint = jointOf.get(link);
      if (joint && joint.kind !== 'free') row.append(el('small', '', `${joint.name} · ${joint.kind}`));
      row.onclick = () => select(link);
      this.rows[link] = row;
      list.push(row);
      for (const child of children.get(link) ?? []) visit(child, depth + 1);
    };
    for (const top of children.get(0) ?? []) visit(top, 0);
    root.replaceChildren(...list);
    filter.oninput = () => {
      const wanted = filter.value.toLowerCase();
      for (const row of list) row.hidden = !row.textContent!.toLowerCase().includes(wanted);
    };
  }

  mark(link: number): void {
    for (const row of this.rows) row?.classList.toggle('selected', row === this.rows[link]);
    this.rows[link]?.scrollIntoView({ block: 'nearest' });
  }
}

export class Inspector {
  /** What its rows show. */
  signals: string[] = [];
  private readonly outputs = new Map<string, HTMLElement>();
  private link = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly message: SceneMessage,
    private readonly send: (command: Command) => void,
    private readonly plot: (signal: string) => void,
  ) {}

  show(link: number, properties: Properties | null): void {
    this.link = link;
    this.signals = [];
    this.outputs.clear();
    this.root.replaceChildren();
    this.root.hidden = link === 0;
    if (link === 0) return;
    const info = this.message.links[link]!;
    this.root.append(el('h2', '', info.name));
    for (const [label, parts] of [
      ['position', ['px', 'py', 'pz']],
      ['velocity', ['vx', 'vy', 'vz']],
      ['turning', ['wx', 'wy', 'wz']],
      ['contact force', ['fx', 'fy', 'fz']],
    ] as const)
      this.row(label, parts.map((p) => `link.${info.name}.${p}`));
    const own = properties?.links[info.name];
    if (own) this.field('mass [kg]', own.mass, (value) => this.edit('mass', info.name, 0, value), 'mass');
    if (own?.friction !== undefined)
      this.field('friction', own.friction, (value) => this.edit('friction', info.name, 0, value), 'friction');
    const joint = this.message.joints.find((j) => j.child === link && !j.loop);
    if (joint && joint.dofs > 0 && joint.kind !== 'free') this.joint(joint, properties);
  }

  refresh(properties: Properties): void {
    if (!this.root.contains(document.activeElement)) this.show(this.link, properties);
  }

  private joint(joint: JointInfo, properties: Properties | null): void {
    this.root.append(el('h3', '', `${joint.name} · ${joint.kind}`));
    for (let dof = 0; dof < joint.dofs; ++dof) {
      const end = joint.dofs > 1 ? `.${dof}` : '';
      const key = (property: string) => `joint.${joint.name}.${property}${end}`;
      this.row('q, v, τ', [key('q'), key('v'), key('tau')]);
      const set = (property: string) => (value: number) => this.send({ type: 'set', key: key(property), value });
      for (const property of ['target', 'stiffness', 'damping', 'effort']) this.field(property, null, set(property), property);
      const limits = properties?.joints[joint.name]?.[dof];
      if (!limits) continue;
      for (const what of ['lower', 'upper', 'dry_friction'] as const)
        this.field(what.replace('_', ' '), limits[what], (value) => this.edit(what, joint.name, dof, value), what);
    }
  }

  private edit(what: string, name: string, dof: number, value: number): void {
    this.send({ type: 'edit', what, name, dof, value });
  }

  private row(label: string, signals: string[]): void {
    const row = el('div', 'values');
    row.append(el('span', '', label));
    for (const signal of signals) {
      const output = button('–', `Plot ${signal}`, () => this.plot(signal));
      output.dataset.signal = signal;
      this.outputs.set(signal, output);
      this.signals.push(signal);
      row.append(output);
    }
    this.root.append(row);
  }

  private field(label: string, value: number | null, apply: (value: number) => void, id: string): void {
    const row = el('label', 'field');
    const input = el('input');
    input.type = 'number';
    input.step = 'any';
    input.dataset.property = id;
    input.placeholder = value === null ? 'none' : '';
    if (value !== null) input.value = String(Number(value.toPrecision(6)));
    input.onchange = () => {
      if (input.value !== '' && Number.isFinite(Number(input.value))) apply(Number(input.value));
    };
    row.append(el('span', '', label), input);
    this.root.append(row);
  }

  update(value: (signal: string) => number | undefined): void {
    for (const [signal, output] of this.outputs) {
      const x = value(signal);
      if (x !== undefined) output.textContent = short(x);
    }
  }
}
