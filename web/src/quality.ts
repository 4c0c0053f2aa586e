// How finely is drawn: less where the machine cannot keep up. ?quality=0..3 in the address fixes it.
import * as THREE from 'three';

const SLOW = 45; // [ms] between pictures that is too long
const PICTURES = 20; // of which the mean counts

interface Level {
  pixels: number; // at most, of the screen's for one of the page's
  shadows: number; // [px] of the shadow's edge; 0: none
}
const LEVELS: Level[] = [{ pixels: 0.6, shadows: 0 }, { pixels: 1, shadows: 1024 }, { pixels: 1.5, shadows: 2048 }, { pixels: 2, shadows: 2048 }];

export class Quality {
  private level = LEVELS.length - 1;
  private readonly fixed: boolean;
  private since = 0; // [ms] when the first of these pictures was drawn
  private pictures = 0;

  constructor(private readonly renderer: THREE.WebGLRenderer, private readonly sun: THREE.DirectionalLight) {
    const wanted = new URLSearchParams(location.search).get('quality');
    this.fixed = wanted !== null;
    if (wanted !== null) this.level = Math.min(this.level, Math.max(0, Math.trunc(Number(wanted)) || 0));
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
  }

  /** Nothing had to be drawn: times until the next picture say nothing. */
  idle(): void {
    this.pictures = 0;
  }

  /** True where the level was changed. */
  drew(now: number): boolean {
    if (this.fixed || this.level === 0) return false;
    if (this.pictures++ === 0) this.since = now;
    if (this.pictures <= PICTURES) return false;
    this.pictures = 0;
    if ((now - this.since) / PICTURES < SLOW) return false;
    --this.level;
    this.apply();
    return true;
  }
}
