// Drawn in a square of 20, in the colour of the text.
const PATHS = {
  play: 'M6 4l10 6-10 6z',
  pause: 'M5.5 4h3v12h-3zM11.5 4h3v12h-3z',
  step: 'M4 4l8 6-8 6zM13.5 4h2.5v12h-2.5z',
  reset: 'M10 4a6 6 0 1 1-5.7 4.1l1.7.6A4.2 4.2 0 1 0 10 5.8v2.7L5.6 5 10 1.5z',
  picture: 'M7 4l-1 2H3v10h14V6h-3l-1-2zm3 3.6a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4zm0 1.6a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2z',
  film: 'M10 4.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11z',
  panels: 'M3 4h14v12H3zm1.6 1.6v8.8h3.2V5.6zm4.8 0v8.8h6V5.6z',
  help: 'M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zm-.9 10.7v1.8h1.8v-1.8zM7 8h1.8a1.2 1.2 0 1 1 2 .9c-1 .8-1.7 1.3-1.7 2.9v.4h1.7v-.2c0-1 .5-1.3 1.2-1.9A3 3 0 1 0 7 8z',
} as const;

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(svg.namespaceURI!, 'path');
  path.setAttribute('d', PATHS[name]);
  path.setAttribute('fill-rule', 'evenodd');
  svg.append(path);
  return svg;
}
