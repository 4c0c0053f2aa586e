// Keys, and the page that lists them.
import { el } from './dom';

export interface Key {
  keys: string[];
  shown: string;
  what: string;
  action: () => void;
}

export class Help {
  constructor(private readonly root: HTMLElement, keys: Key[]) {
    const table = el('dl');
    for (const key of keys) table.append(el('dt', '', key.shown), el('dd', '', key.what));
    for (const [shown, what] of [
      ['drag a body', 'pull it with a spring'],
      ['drag elsewhere', 'turn the camera; with the right button, or two fingers, move it'],
      ['wheel, pinch', 'nearer or farther'],
      ['click a value', 'plot it'],
    ] as const)
      table.append(el('dt', '', shown), el('dd', '', what));
    const card = el('div', 'card');
    card.append(el('h2', '', 'Keys'), table);
    root.replaceChildren(card);
    root.onclick = () => this.toggle();
    addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement && ['text', 'number', 'search'].includes(event.target.type);
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const found = keys.find((key) => key.keys.includes(event.key));
      if (!found) return;
      event.preventDefault();
      found.action();
    });
  }

  toggle(): void {
    this.root.hidden = !this.root.hidden;
  }
}
