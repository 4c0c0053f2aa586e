// A few lines that save many.
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, className = '', text = ''): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

export function button(text: string, title: string, action: (event: MouseEvent) => void): HTMLButtonElement {
  const element = el('button', '', text);
  element.type = 'button';
  element.title = title;
  element.setAttribute('aria-label', title);
  element.onclick = (event) => {
    action(event);
    element.blur(); // so that space is for the transport again
  };
  return element;
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export function short(x: number): string {
  if (!Number.isFinite(x)) return '–';
  const a = Math.abs(x);
  return a !== 0 && (a < 1e-3 || a >= 1e5) ? x.toExponential(1) : x.toFixed(a < 10 ? 4 : 2);
}

export function download(name: string, blob: Blob): void {
  const link = el('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
