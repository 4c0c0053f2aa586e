// The same scene in a second world, under other settings: as ghosts in the first one, or beside it.
import type GUI from 'lil-gui';
import * as THREE from 'three';
import { Motion, ShapeSet } from './bodies';
import type { Send } from './connection';
import { el, short } from './dom';
import { CONTACTS, SOLVERS } from './panel';
import type { Frame, SceneMessage, Status } from './protocol';
import type { ShapeLibrary } from './shapes';
import type { Stage } from './stage';

/** Outlives a scene that is loaded again. */
const choice = { on: false, solver: 'pgs', contact: 'cone', beside: false };

export class Compare {
  private readonly motion: Motion;
  private readonly shapes: ShapeSet;
  private readonly materials: THREE.Material[] = [];
  private readonly folder: GUI;
  private readonly figures = el('div', 'figures compare');
  private readonly offset = new THREE.Vector3();
  private seen = false;

  constructor(
    message: SceneMessage,
    library: ShapeLibrary,
    gui: GUI,
    private readonly stage: Stage,
    private readonly send: Send,
  ) {
    this.motion = new Motion(message);
    this.shapes = new ShapeSet(message.visuals.filter((v) => v.link > 0), library, stage.software, () => {
      const made = stage.surface({ roughness: 0.6, transparent: true });
      this.materials.push(made);
      return made;
    });
    this.shapes.group.visible = false;
    stage.scene.add(this.shapes.group);
    this.folder = gui.addFolder('Compare').close();
    this.folder.add(choice, 'on').name('a second world').onChange(() => this.ask());
    this.folder.add(choice, 'solver', SOLVERS).onChange(() => choice.on && this.ask());
    this.folder.add(choice, 'contact', CONTACTS).onChange(() => choice.on && this.ask());
    this.folder.add(choice, 'beside').name('side by side').onChange(() => this.arrange());
    this.folder.$children.append(this.figures);
    this.arrange();
  }

  private ask(): void {
    const { on, solver, contact } = choice;
    this.send({ type: 'compare', settings: on ? { solver, contact } : null });
  }

  /** Ghosts let the first world be seen; beside it they are as solid, and stand to the right of what is looked at. */
  private arrange(): void {
    const { camera, controls } = this.stage;
    for (const material of this.materials) {
      material.opacity = choice.beside ? 0.9 : 0.4;
      material.depthWrite = choice.beside;
    }
    this.offset.set(0, 0, 0);
    if (!choice.beside) return;
    const away = controls.target.clone().sub(camera.position);
    this.offset.set(away.y, -away.x, 0).setLength(0.6 * away.length());
    this.seen = false;
  }

  take(frame: Frame, now: number): void {
    if (frame.other) this.motion.take({ ...frame, poses: frame.other }, now);
    if (this.shapes.group.visible !== (frame.other !== null)) this.seen = false;
    this.shapes.group.visible = frame.other !== null;
    this.stage.touch();
  }

  update(now: number): void {
    this.shapes.group.position.copy(this.offset);
    if (!this.shapes.group.visible || (!this.motion.update(now) && this.seen)) return;
    this.seen = true;
    this.shapes.place(this.motion.matrices);
    this.stage.touch();
  }

  showStatus(status: Status): void {
    const other = status.compare;
    if (choice.on !== (other !== null)) {
      choice.on = other !== null;
      this.folder.controllers[0]!.updateDisplay();
    }
    if (!other) return this.figures.replaceChildren();
    const step = Object.values(status.times).reduce((a, b) => a + b, 0);
    const rows: [string, string][] = [
      ['apart', `${short(other.distance ?? NaN)} m${other.link ? ` (${other.link})` : ''}`],
      ['residual', `${(status.residual ?? NaN).toExponential(1)} | ${(other.residual ?? NaN).toExponential(1)} m/s`],
      ['penetration', `${(1e3 * (status.penetration ?? NaN)).toFixed(3)} | ${(1e3 * (other.penetration ?? NaN)).toFixed(3)} mm`],
      ['energy', `${short((status.kinetic ?? NaN) + (status.potential ?? NaN))} | ${short(other.energy ?? NaN)} J`],
      ['step', `${(1e3 * step).toFixed(3)} | ${(1e3 * other.step).toFixed(3)} ms`],
    ];
    this.figures.replaceChildren(...rows.flatMap(([name, value]) => [el('span', '', name), el('b', '', value)]));
  }

  dispose(): void {
    this.shapes.dispose();
  }
}
