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
/** How far the second world stands aside, and the camera back for it. */
let apart: { by: THREE.Vector3; back: number } | null = null;
const NOWHERE = new THREE.Vector3();

export class Compare {
  private readonly motion: Motion;
  private readonly shapes: ShapeSet;
  private readonly materials: THREE.Material[] = [];
  private readonly folder: GUI;
  private readonly figures = el('div', 'figures compare');
  private seen = false;

  constructor(
    message: SceneMessage,
    library: ShapeLibrary,
    gui: GUI,
    private readonly stage: Stage,
    private readonly send: Send,
    /** Around what moves in the first world. */
    private readonly bounds: () => THREE.Box3,
  ) {
    this.motion = new Motion(message);
    this.shapes = new ShapeSet(message.visuals.filter((v) => v.link > 0), library, stage.software, () => {
      const made = stage.surface({ roughness: 0.6, transparent: true });
      Object.assign(made, { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }); // behind what it is at one with
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
    this.arrange();
  }

  /** Ghosts let the first world be seen; beside it they are as solid, and the camera steps back to see both. */
  private arrange(): void {
    const beside = choice.on && choice.beside;
    for (const material of this.materials) {
      material.opacity = beside ? 1 : 0.4;
      material.transparent = !beside;
      material.depthWrite = beside;
      material.needsUpdate = true;
    }
    if (beside && !apart) this.part();
    if (!beside && apart) {
      this.stage.shift(apart.by.clone().multiplyScalar(-0.5), 1 / apart.back);
      apart = null;
    }
    this.seen = false;
    this.stage.touch();
  }

  /** To the right of the first, as far as that is wide. */
  private part(): void {
    const { camera, controls } = this.stage;
    const away = controls.target.clone().sub(camera.position);
    const right = new THREE.Vector3(away.y, -away.x, 0).normalize();
    const size = this.bounds().getSize(new THREE.Vector3());
    const seen = this.stage.width;
    const wide = Math.min(seen, Math.max(0.2 * seen, Math.abs(right.x) * size.x + Math.abs(right.y) * size.y));
    const by = right.multiplyScalar(1.15 * wide);
    apart = { by, back: Math.min(2.5, Math.max(1, (2.3 * wide) / seen)) };
    this.stage.shift(by.clone().multiplyScalar(0.5), apart.back);
  }

  take(frame: Frame, now: number): void {
    if (frame.other) this.motion.take({ ...frame, poses: frame.other }, now);
    if (this.shapes.group.visible !== (frame.other !== null)) this.seen = false;
    this.shapes.group.visible = frame.other !== null;
    this.stage.touch();
  }

  update(now: number): void {
    this.shapes.group.position.copy(apart?.by ?? NOWHERE);
    if (!this.shapes.group.visible || (!this.motion.update(now) && this.seen)) return;
    this.seen = true;
    this.shapes.place(this.motion.matrices);
    this.stage.touch();
  }

  /** Another page may have asked for it. */
  private follow(other: Status['compare']): void {
    const { solver, contact } = other?.settings ?? choice;
    if (choice.on === (other !== null) && choice.solver === solver && choice.contact === contact) return;
    const begins = choice.on !== (other !== null);
    Object.assign(choice, { on: other !== null, solver, contact });
    for (const controller of this.folder.controllers) controller.updateDisplay();
    if (begins) this.arrange();
  }

  showStatus(status: Status): void {
    const other = status.compare;
    this.follow(other);
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
