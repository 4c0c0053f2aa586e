// The values of what is selected: live, plotted by click, edited in place.
import type { Refused } from './connection';
import { button, el, short } from './dom';
import { Field } from './field';
import type { JointInfo, Properties, SceneMessage } from './protocol';
import type { Chosen } from './tree';
import type { Surroundings } from './view';

const AXES = ['x', 'y', 'z'];
/** What is said of a link: label, unit, signals. */
const LINK_ROWS: [string, string, string[]][] = [
  ['position', 'm', ['px', 'py', 'pz']],
  ['velocity', 'm/s', ['vx', 'vy', 'vz']],
  ['turning', 'rad/s', ['wx', 'wy', 'wz']],
  ['contact', 'N', ['fx', 'fy', 'fz']],
];
const TURNS = new Set(['revolute', 'screw', 'spherical', 'universal']);

/** Units of one dof: of its position, of efforts. */
function unitsOf(joint: JointInfo, dof: number): { position: string; effort: string } {
  const slides = { prismatic: 1, cylindrical: 1, planar: 2, free: 3 }[joint.kind] ?? 0;
  return dof < slides && !TURNS.has(joint.kind) ? { position: 'm', effort: 'N' } : { position: 'rad', effort: 'N m' };
}

export class Inspector {
  /** What its rows show. */
  signals: string[] = [];
  private readonly outputs = new Map<string, HTMLElement>();
  /** Fields that follow a signal, and those that follow the properties. */
  private live: { signal: string; field: Field }[] = [];
  private kept: { field: Field; value: (p: Properties) => number | null | undefined }[] = [];

  constructor(private readonly root: HTMLElement, private readonly message: SceneMessage, private readonly around: Surroundings) {}

  show(chosen: Chosen, properties: Properties | null): void {
    this.signals = [];
    this.live = [];
    this.kept = [];
    this.outputs.clear();
    this.root.replaceChildren();
    if (chosen.joint !== undefined) this.loop(this.message.joints[chosen.joint]!);
    else if (chosen.link > 0) this.link(chosen.link);
    else this.root.append(el('p', 'hint', 'Click a body to see and change its values; drag it to pull it.'));
    if (properties) this.refresh(properties);
  }

  refresh(properties: Properties): void {
    for (const { field, value } of this.kept) field.show(value(properties));
  }

  private link(link: number): void {
    const { name } = this.message.links[link]!;
    this.root.append(el('h2', '', name));
    for (const [label, unit, parts] of LINK_ROWS) this.row(label, unit, parts.map((p) => `link.${name}.${p}`), AXES);
    this.property('mass', 'kg', 'mass', name, 0, (p) => p.links[name]?.mass);
    this.property('friction', '', 'friction', name, 0, (p) => p.links[name]?.friction);
    const joint = this.message.joints.find((j) => j.child === link && !j.loop);
    if (joint && joint.dofs > 0 && joint.kind !== 'free') this.joint(joint);
  }

  private loop(joint: JointInfo): void {
    this.root.append(el('h2', '', joint.name), el('p', 'hint',
      `${joint.kind}, closes a loop between ${this.message.links[joint.parent]!.name} and ${this.message.links[joint.child]!.name}`));
    const set = (closed: boolean) => () => this.around.send({ type: 'set', key: `joint.${joint.name}.closed`, value: closed });
    const bar = el('div', 'buttons');
    bar.append(button('open', 'Open the loop', set(false)), button('close', 'Close the loop', set(true)));
    this.root.append(bar);
  }

  private joint(joint: JointInfo): void {
    for (let dof = 0; dof < joint.dofs; ++dof) {
      const end = joint.dofs > 1 ? `.${dof}` : '';
      const key = (property: string) => `joint.${joint.name}.${property}${end}`;
      const { position, effort } = unitsOf(joint, dof);
      this.root.append(el('h3', '', `${joint.name}${joint.dofs > 1 ? ` ${dof + 1}` : ''} · ${joint.kind}`));
      this.row('now', '', [key('q'), key('v'), key('tau')], ['q', 'v', 'τ']);
      this.root.append(el('h4', '', 'Drive'));
      this.drive('target', position, key('target'));
      this.drive('stiffness', `${effort}/${position}`, key('stiffness'));
      this.drive('damping', `${effort} s/${position}`, key('damping'));
      this.drive('effort', effort, key('effort'));
      this.root.append(el('h4', '', 'Joint'));
      const own = (p: Properties) => p.joints[joint.name]?.[dof];
      this.property('lower limit', position, 'lower', joint.name, dof, (p) => own(p)?.lower, 'none');
      this.property('upper limit', position, 'upper', joint.name, dof, (p) => own(p)?.upper, 'none');
      this.property('friction', effort, 'dry_friction', joint.name, dof, (p) => own(p)?.dry_friction);
      this.property('damping', `${effort} s/${position}`, 'damping', joint.name, dof, (p) => own(p)?.damping);
    }
  }

  /** A value of the scene. */
  private property(label: string, unit: string, what: string, name: string, dof: number,
    value: (p: Properties) => number | null | undefined, empty?: string): void {
    const apply = (x: number | null, refused: Refused) => this.around.send({ type: 'edit', what, name, dof, value: x }, refused);
    const field = new Field({ label, unit, id: what, apply, ...(empty === undefined ? {} : { empty }) });
    this.kept.push({ field, value });
    this.root.append(field.root);
  }

  /** A value of the session. */
  private drive(label: string, unit: string, signal: string): void {
    const apply = (x: number | null, refused: Refused) => x !== null && this.around.send({ type: 'set', key: signal, value: x }, refused);
    const field = new Field({ label, unit, id: `drive.${label}`, apply });
    this.live.push({ signal, field });
    this.signals.push(signal);
    this.root.append(field.root);
  }

  private row(label: string, unit: string, signals: string[], heads: string[]): void {
    const row = el('div', 'values');
    const name = el('span', '', label);
    if (unit) name.append(el('small', '', unit));
    row.append(name);
    signals.forEach((signal, i) => {
      const output = button('–', `Plot ${signal} (with shift: in the last plot)`, (event) => this.around.plot(signal, event.shiftKey));
      output.dataset.signal = signal;
      output.dataset.head = heads[i]!;
      this.outputs.set(signal, output);
      this.signals.push(signal);
      row.append(output);
    });
    this.root.append(row);
  }

  update(value: (signal: string) => number | undefined): void {
    for (const [signal, output] of this.outputs) {
      const x = value(signal);
      if (x !== undefined) output.textContent = short(x);
    }
    for (const { signal, field } of this.live) field.show(value(signal));
  }
}
