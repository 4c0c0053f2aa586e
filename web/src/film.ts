// What the canvas shows, recorded as WebM.
import { download } from './dom';

const RATE = 60; // [1/s] at most
const BITS = 8e6; // [1/s]
const KINDS = ['video/webm;codecs=vp8', 'video/webm']; // the first is the fastest to make

export class Film {
  private recorder: MediaRecorder | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly changed: (filming: boolean) => void) {}

  /** Starts, or ends and saves under `name`. */
  toggle(name: string): void {
    if (this.recorder) return this.recorder.stop();
    const parts: Blob[] = [];
    const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind)) ?? '';
    const recorder = new MediaRecorder(this.canvas.captureStream(RATE), { mimeType, videoBitsPerSecond: BITS });
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = () => {
      this.recorder = null;
      this.changed(false);
      download(`${name}.webm`, new Blob(parts, { type: 'video/webm' }));
    };
    recorder.start(1000);
    this.recorder = recorder;
    this.changed(true);
  }
}
