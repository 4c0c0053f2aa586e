// Keys, and the page that lists them.
import { el } from './dom';

export interface Key {
  keys: string[];
  shown: string;
  what: string;
  action: () => void;
}

const POINTER = [
  ['drag a body', 'pull it with a spring'],
  ['drag elsewhere', 'turn the camera'],
  ['right button, two fingers', 'move the camera'],
  ['wheel, pinch', 'nearer or farther'],
  ['shift and drag', 'turn the camera, also on a body'],
  ['click a body', 'select it'],
  ['click a value', 'plot it; with shift in the last plot'],
];

export class Help {
  constructor(private readonly root: HTMLElement, groups: Record<string, Key[]>) {
    const card = el('div', 'card');
    for (const [title, keys] of Object.entries(groups)) card.append(this.group(title, keys.map((key) => [key.shown, key.what])));
    card.append(this.group('Pointer', POINTER));
    root.replaceChildren(card);
    root.onclick = () => this.toggle();
    const keys = Object.values(groups).flat();
    addEventListener('keydown', (event) => {
      if (event.key === 'Escape') root.hidden = true;
      const typing = event.target instanceof HTMLSelectElement ||
        (event.target instanceof HTMLInputElement && ['text', 'number', 'search'].includes(event.target.type));
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const found = keys.find((key) => key.keys.includes(event.key));
      if (!found) return;
      event.preventDefault();
      found.action();
    });
  }

  private group(title: string, rows: string[][]): HTMLElement {
    const section = el('section');
    const table = el('dl');
    for (const [shown, what] of rows) table.append(el('dt', '', shown), el('dd', '', what));
    section.append(el('h2', '', title), table);
    return section;
  }

  toggle(): void {
    this.root.hidden = !this.root.hidden;
  }
}
