// One scene on the stage, with its panels.
import * as THREE from 'three';
import { ShapeSet, Motion } from './bodies';
import { Compare } from './compare';
import { byId } from './dom';
import { Grab } from './grab';
import { Inspector, Tree } from './inspector';
import { Overlays, type OverlayChoice } from './overlays';
import { Panel } from './panel';
import type { Command, Frame, Properties, SceneMessage, Vec3 } from './protocol';
import { ShapeLibrary } from './shapes';
import type { Stage } from './stage';

export interface Surroundings {
  send(command: Command): void;
  subscribe(): void;
  plot(signal: string): void;
  keepCamera: boolean;
}

/** Choices outlive a scene that is loaded again. */
const choice: OverlayChoice = { contacts: false, collision: false, axes: false, frames: false, centres: false, names: false, sleeping: false };

let current: View | null = null;
let grab: Grab | null = null;

export class View {
  readonly motion: Motion;
  readonly panel: Panel;
  readonly compare: Compare;
  private readonly visuals: ShapeSet;
  private readonly colliders: ShapeSet;
  private readonly overlays: Overlays;
  private readonly tree: Tree;
  private readonly inspector: Inspector;
  private properties: Properties | null = null;
  private selected = 0;
  private painted = '';

  constructor(
    private readonly stage: Stage,
    private readonly message: SceneMessage,
    geometry: ArrayBuffer,
    private readonly around: Surroundings,
  ) {
    const library = new ShapeLibrary(message.meshes, geometry);
    this.motion = new Motion(message);
    this.visuals = new ShapeSet(message.visuals, library, (opacity) =>
      new THREE.MeshStandardMaterial({ roughness: 0.55, metalness: 0.08, transparent: opacity < 1, opacity }));
    this.colliders = new ShapeSet(message.colliders, library, () =>
      new THREE.MeshBasicMaterial({ wireframe: true, transparent: true, opacity: 0.45 }));
    const size = this.size();
    stage.dress(message, size, around.keepCamera);
    this.overlays = new Overlays(message, size, byId('labels'), choice);
    stage.scene.add(this.visuals.group, this.colliders.group, this.overlays.group);
    this.panel = new Panel(message, choice, around.send, () => this.overlaysChanged());
    this.compare = new Compare(message, library, this.panel.gui, stage, around.send);
    this.tree = new Tree(byId('tree'), byId<HTMLInputElement>('filter'), message, (link) => this.select(link));
    this.inspector = new Inspector(byId('inspector'), message, around.send, around.plot);
    this.inspector.show(0, null);
    current = this;
    // made once: it listens to the window
    grab ??= new Grab(stage, {
      pickable: () => current!.visuals.group.children,
      matrix: (link) => current!.motion.matrices[link]!,
    }, around.send, (link) => current!.select(link));
    this.overlaysChanged();
  }

  /** About how large it is [m]: the distance of the given view, else of the links from each other. */
  private size(): number {
    const { view } = this.message;
    if (view) return Math.max(0.05, Math.hypot(view.from[0] - view.to[0], view.from[1] - view.to[1], view.from[2] - view.to[2]) / 2.5);
    let reach = 0.3;
    for (const shape of this.message.visuals)
      if (shape.size && shape.kind !== 'plane') reach = Math.max(reach, ...shape.size);
    for (const joint of this.message.joints) reach = Math.max(reach, Math.hypot(joint.frame[0], joint.frame[1], joint.frame[2]));
    return Math.min(50, 1.5 * reach);
  }

  take(frame: Frame, now: number): void {
    this.motion.take(frame, now);
    this.compare.take(frame, now);
  }

  /** What the pointer can be on. */
  get solid(): THREE.Object3D[] {
    return [this.visuals.group, ...this.stage.grounds];
  }

  get signals(): string[] {
    return [...this.inspector.signals, ...this.panel.signals];
  }

  select(link: number): void {
    if (link === this.selected) return;
    this.selected = link;
    this.tree.mark(link);
    this.inspector.show(link, this.properties);
    this.around.subscribe();
  }

  showProperties(properties: Properties): void {
    this.properties = properties;
    this.inspector.refresh(properties);
  }

  showValues(value: (signal: string) => number | undefined): void {
    this.inspector.update(value);
    this.panel.update(value);
  }

  toggle(key: keyof OverlayChoice): void {
    choice[key] = !choice[key];
    this.overlaysChanged();
  }

  private overlaysChanged(): void {
    this.around.send({ type: 'contacts', on: choice.contacts });
    this.colliders.group.visible = choice.collision;
    if (this.motion.frame) this.place();
  }

  push(): void {
    if (this.selected === 0) return;
    const direction = this.stage.camera.getWorldDirection(new THREE.Vector3());
    direction.z = Math.max(0, direction.z);
    this.around.send({ type: 'push', link: this.selected, point: this.message.links[this.selected]!.com, direction: direction.toArray() as Vec3 });
  }

  focus(): void {
    const at = this.position(this.selected);
    this.stage.controls.target.copy(at);
  }

  private position(link: number): THREE.Vector3 {
    return new THREE.Vector3(...this.message.links[link]!.com).applyMatrix4(this.motion.matrices[link]!);
  }

  /** Where the middle of a link is on the screen [px]. */
  screen(link: number): [number, number] {
    const p = this.position(link).project(this.stage.camera);
    return [((p.x + 1) / 2) * innerWidth, ((1 - p.y) / 2) * innerHeight];
  }

  private place(): void {
    this.visuals.place(this.motion.matrices);
    if (choice.collision) this.colliders.place(this.motion.matrices);
    this.overlays.update(this.motion.matrices, this.motion.frame);
  }

  private paint(): void {
    const states = choice.sleeping ? (this.motion.frame?.states ?? null) : null;
    const wanted = `${this.selected} ${states?.join('') ?? ''}`;
    if (wanted === this.painted) return;
    this.painted = wanted;
    this.visuals.paint(this.selected, states);
  }

  update(now: number): void {
    if (this.motion.update(now)) this.place();
    this.compare.update(now);
    this.paint();
    this.overlays.placeNames(this.motion.matrices, this.stage.camera);
    grab?.update();
  }

  dispose(): void {
    for (const part of [this.visuals, this.colliders, this.overlays, this.compare, this.panel]) part.dispose();
  }
}
