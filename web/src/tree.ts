// The tree of links, each with the joint that carries it; joints that close loops stand below their parents.
import { el } from './dom';
import type { JointInfo, SceneMessage } from './protocol';

const MOST_ROWS = 3000;

/** A link, or one of the joints that close loops. */
export interface Chosen {
  link: number; // 0: none
  joint?: number; // of the scene's joints
}

/** Many joints are called as what they carry. */
const describe = (joint: JointInfo, link: string): string => (joint.name === link ? joint.kind : `${joint.name} · ${joint.kind}`);

export class Tree {
  private readonly rows: { chosen: Chosen; element: HTMLElement }[] = [];
  private readonly children = new Map<number, number[]>();
  private readonly carriers = new Map<number, JointInfo>();
  private readonly loops = new Map<number, number[]>();

  constructor(
    root: HTMLElement,
    filter: HTMLInputElement,
    private readonly message: SceneMessage,
    private readonly choose: (chosen: Chosen) => void,
  ) {
    message.links.forEach((link, i) => i > 0 && this.put(this.children, link.parent, i));
    message.joints.forEach((joint, i) => {
      if (joint.loop) this.put(this.loops, joint.parent, i);
      else this.carriers.set(joint.child, joint);
    });
    this.visit(0, -1);
    const hidden = message.links.length - 1 - this.rows.filter((row) => row.chosen.joint === undefined).length;
    root.replaceChildren(...this.rows.map((row) => row.element));
    if (hidden > 0) root.append(el('p', 'hint', `and ${hidden} more`));
    if (this.rows.length === 0) root.append(el('p', 'hint', 'Nothing moves in this scene.'));
    filter.hidden = this.rows.length < 8;
    filter.value = '';
    filter.oninput = () => {
      const wanted = filter.value.toLowerCase();
      for (const { element } of this.rows) element.hidden = !element.textContent!.toLowerCase().includes(wanted);
    };
  }

  private put(map: Map<number, number[]>, key: number, value: number): void {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  }

  private visit(link: number, depth: number): void {
    if (link > 0) {
      const joint = this.carriers.get(link);
      this.row({ link }, this.message.links[link]!.name, joint && joint.kind !== 'free' ? describe(joint, this.message.links[link]!.name) : '', depth);
    }
    for (const joint of this.loops.get(link) ?? []) {
      const { name, kind } = this.message.joints[joint]!;
      this.row({ link: 0, joint }, name, `${kind} · closes a loop`, depth + 1);
    }
    for (const child of this.children.get(link) ?? []) this.visit(child, depth + 1);
  }

  private row(chosen: Chosen, name: string, note: string, depth: number): void {
    if (this.rows.length >= MOST_ROWS) return;
    const element = el('div', 'row', name);
    element.setAttribute('role', 'treeitem');
    element.style.paddingLeft = `${14 + 11 * Math.min(depth, 12)}px`;
    element.title = [name, note].filter(Boolean).join(' · ');
    if (note) element.append(el('small', '', note));
    element.onclick = () => this.choose(chosen);
    this.rows.push({ chosen, element });
  }

  mark({ link, joint }: Chosen): void {
    for (const { chosen, element } of this.rows) {
      const is = joint === undefined ? link > 0 && chosen.link === link : chosen.joint === joint;
      element.classList.toggle('selected', is);
      if (is) element.scrollIntoView({ block: 'nearest' });
    }
  }
}
