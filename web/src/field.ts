// A number that can be typed, with what the server says against it.
import type { Refused } from './connection';
import { el } from './dom';

const shown = (x: number): string => String(Number(x.toPrecision(6)));

export interface FieldOptions {
  label: string;
  unit?: string;
  /** For tests and styles. */
  id: string;
  /** An empty field is `null`: no limit. */
  empty?: string;
  apply(value: number | null, refused: Refused): void;
}

export class Field {
  readonly root = el('label', 'field');
  private readonly input = el('input');
  private readonly why = el('em');

  constructor(private readonly options: FieldOptions) {
    const { input } = this;
    input.type = 'text';
    input.inputMode = 'decimal';
    input.spellcheck = false;
    input.dataset.property = options.id;
    input.placeholder = options.empty ?? '';
    input.onchange = () => this.take();
    input.onkeydown = (event) => {
      if (event.key === 'Enter') input.blur();
    };
    this.why.hidden = true;
    const label = el('span', '', options.label);
    if (options.unit) label.append(el('small', '', options.unit));
    this.root.append(label, input, this.why);
  }

  private take(): void {
    this.refuse('');
    const text = this.input.value.trim();
    if (text === '' && this.options.empty !== undefined) return this.options.apply(null, (why) => this.refuse(why));
    const value = Number(text.replace(',', '.'));
    if (text === '' || !Number.isFinite(value)) return this.refuse('not a number');
    this.options.apply(value, (why) => this.refuse(why));
  }

  private refuse(why: string): void {
    this.why.textContent = why;
    this.why.hidden = why === '';
    this.root.classList.toggle('refused', why !== '');
  }

  /** What it is now; left alone while somebody types, and while a refused value stands there. */
  show(value: number | null | undefined): void {
    if (value === undefined || document.activeElement === this.input || this.root.classList.contains('refused')) return;
    const text = value === null || !Number.isFinite(value) ? '' : shown(value);
    if (this.input.value !== text) this.input.value = text;
  }
}
