// How finely is drawn: less where the machine cannot keep up. ?quality=0..4 in the address fixes it.
import * as THREE from 'three';

const SLOW = 45; // [ms] between pictures that is too long
const PICTURES = 20; // of which the mean counts

interface Level {
  pixels: number; // at most, of the screen's for one of the page's
  shadows: number; // [px] of the shadow's edge; 0: none
  pause: number; // [ms] between pictures, at least
}
const LEVELS: Level[] = [
  { pixels: 0.25, shadows: 0, pause: 120 }, // for tests; never chosen by itself
  { pixels: 0.6, shadows: 0, pause: 0 },
  { pixels: 1, shadows: 1024, pause: 0 },
  { pixels: 1.5, shadows: 2048, pause: 0 },
  { pixels: 2, shadows: 2048, pause: 0 },
];
const BEST = LEVELS.length - 1;
const IN_SOFTWARE = 2; // where the processor draws, better ones would be tried in vain; the first picture is plainer still

/** Asked for in the address. */
export function givenQuality(): number | null {
  const given = new URLSearchParams(location.search).get('quality');
  return given === null ? null : Math.min(BEST, Math.max(0, Math.trunc(Number(given)) || 0));
}

/** Whether the processor draws. */
export function inSoftware(renderer: THREE.WebGLRenderer): boolean {
  const gl = renderer.getContext();
  const named = gl.getExtension('WEBGL_debug_renderer_info');
  return /swiftshader|llvmpipe|softpipe|basic render/i.test(String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER)));
}

export class Quality {
  private level: number;
  private first: boolean; // it is to come, and what follows is better
  private readonly least = givenQuality() ?? 1;
  private since = 0; // [ms] when the first of these pictures was drawn
  private last = 0;
  private pictures = 0;

  constructor(private readonly renderer: THREE.WebGLRenderer, private readonly sun: THREE.DirectionalLight, plain: boolean) {
    this.level = givenQuality() ?? (plain ? 1 : BEST);
    this.first = plain && givenQuality() === null;
    this.apply();
    document.addEventListener('visibilitychange', () => this.idle());
  }

  private apply(): void {
    const { pixels, shadows } = LEVELS[this.level]!;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, pixels));
    this.renderer.shadowMap.enabled = shadows > 0;
    this.sun.shadow.mapSize.set(shadows || 1, shadows || 1);
    this.sun.shadow.map?.dispose();
    this.sun.shadow.map = null;
    document.body.classList.toggle('plain', shadows === 0);
  }

  /** Whether a picture may be drawn already. */
  due(now: number): boolean {
    return now - this.last >= LEVELS[this.level]!.pause;
  }

  /** Nothing had to be drawn: times until the next picture say nothing. */
  idle(): void {
    this.pictures = 0;
  }

  /** True where the level was changed. */
  drew(now: number): boolean {
    this.last = now;
    if (this.first) {
      this.first = false;
      this.level = IN_SOFTWARE;
      this.apply();
      return true;
    }
    if (this.level <= this.least) return false;
    if (this.pictures++ === 0) this.since = now;
    if (this.pictures <= PICTURES) return false;
    this.pictures = 0;
    if ((now - this.since) / PICTURES < SLOW) return false;
    --this.level;
    this.apply();
    return true;
  }
}
