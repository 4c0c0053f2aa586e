// Pictures for `karakuri render`: the page was opened with ?render=WIDTHxHEIGHT, draws each frame as it comes and sends it back.
import type { Stage } from './stage';

export interface Size {
  width: number;
  height: number;
}

/** None in a page for people. */
export function renderSize(): Size | null {
  const found = /^(\d+)x(\d+)$/.exec(new URLSearchParams(location.search).get('render') ?? '');
  return found ? { width: Number(found[1]), height: Number(found[2]) } : null;
}

export function sendPicture(stage: Stage, send: (bytes: Blob) => void): void {
  stage.render(0);
  stage.canvas.toBlob((blob) => blob && send(blob), 'image/png');
}
