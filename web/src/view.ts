// One scene on the stage, with its panels.
import * as THREE from 'three';
import { ShapeSet, Motion, type Paint } from './bodies';
import type { Refused, Send } from './connection';
import { Compare } from './compare';
import { byId } from './dom';
import { Grab } from './grab';
import { Inspector } from './inspector';
import { OVERLAYS, Overlays, type Overlay, type OverlayChoice } from './overlays/overlays';
import { Panel } from './panel';
import type { Frame, Properties, SceneMessage, ShapeInfo, Status, Vec3 } from './protocol';
import { ShapeLibrary } from './shapes';
import type { Stage } from './stage';
import { Tree, type Chosen } from './tree';

export interface Surroundings {
  send: Send;
  subscribe(): void;
  keepCamera: boolean;
  /** In a plot of its own, or with `add` in the last one. */
  plot(signal: string, add: boolean, refused?: Refused): void;
}

/** Choices outlive a scene that is loaded again. */
const choice = Object.fromEntries(Object.keys(OVERLAYS).map((key) => [key, false])) as OverlayChoice;

let current: View | null = null;
let grab: Grab | null = null;

const same = (a: ArrayLike<number> | null, b: ArrayLike<number> | null): boolean => {
  if (a === b) return true;
  if (!a || !b || a.length !== b.length) return false;
  for (let i = 0; i < a.length; ++i) if (a[i] !== b[i]) return false;
  return true;
};

/** Faces of links that lie in one plane, as of two boxes on a hinge, would flicker: every other link is larger by a thousandth. */
const apartFromParent = (shape: ShapeInfo): ShapeInfo =>
  shape.kind !== 'box' || shape.link % 2 === 0 || !shape.size ? shape : { ...shape, size: shape.size.map((x) => 1.001 * x) as [number, number, number] };

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
  private chosen: Chosen = { link: 0 };
  private painted: Paint = { selected: 0, states: null, islands: null };
  private framed: boolean;

  constructor(
    private readonly stage: Stage,
    private readonly message: SceneMessage,
    geometry: ArrayBuffer,
    private readonly around: Surroundings,
  ) {
    const library = new ShapeLibrary(message.meshes, geometry);
    this.motion = new Motion(message);
    this.visuals = new ShapeSet(message.visuals.map(apartFromParent), library, stage.software, (opacity) =>
      stage.surface({ roughness: 0.55, metalness: 0.05, transparent: opacity < 1, opacity }));
    this.colliders = new ShapeSet(message.colliders, library, stage.software, () =>
      new THREE.MeshBasicMaterial({ wireframe: true, transparent: true, opacity: 0.8 }));
    this.framed = message.view !== undefined || around.keepCamera;
    stage.dress(message, around.keepCamera);
    this.overlays = new Overlays(message, this.size(), byId('labels'), choice);
    stage.scene.add(this.visuals.group, this.colliders.group, this.overlays.group);
    this.panel = new Panel(message, choice, around, () => this.overlaysChanged());
    this.compare = new Compare(message, library, this.panel.gui, stage, around.send, () => this.visuals.bounds(true));
    this.tree = new Tree(byId('tree'), byId<HTMLInputElement>('filter'), message, (chosen) => this.choose(chosen));
    this.inspector = new Inspector(byId('inspector'), message, around);
    this.inspector.show(this.chosen, null);
    current = this;
    // made once: it listens to the window
    grab ??= new Grab(stage, {
      pickable: () => current!.visuals.group.children,
      matrix: (link) => current!.motion.matrices[link]!,
    }, around.send, (link) => current!.choose({ link }));
    this.overlaysChanged();
  }

  /** About how large it is [m]: by the distance of the given view, else by the shapes. */
  private size(): number {
    const { view } = this.message;
    if (view) return Math.max(0.05, Math.hypot(view.from[0] - view.to[0], view.from[1] - view.to[1], view.from[2] - view.to[2]) / 2.5);
    let reach = 0.1;
    for (const shape of this.message.visuals)
      if (shape.size && shape.kind !== 'plane' && shape.link > 0) reach = Math.max(reach, ...shape.size);
    return Math.min(5, 4 * reach);
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

  choose(chosen: Chosen): void {
    if (chosen.link === this.chosen.link && chosen.joint === this.chosen.joint) return;
    this.chosen = chosen;
    this.tree.mark(chosen);
    this.inspector.show(chosen, this.properties);
    this.around.subscribe();
  }

  showProperties(properties: Properties): void {
    this.properties = properties;
    this.inspector.refresh(properties);
    this.overlays.setProperties(properties);
  }

  showStatus(status: Status): void {
    this.panel.showStatus(status);
    this.compare.showStatus(status);
    this.overlays.setWalkers(status.walkers);
    if (status.walkers.length) this.stage.touch();
  }

  showValues(value: (signal: string) => number | undefined): void {
    this.inspector.update(value);
    this.panel.update(value);
  }

  toggle(key: Overlay): void {
    choice[key] = !choice[key];
    this.overlaysChanged();
  }

  private overlaysChanged(): void {
    this.around.send({ type: 'show', contacts: choice.contacts || choice.cones, boxes: choice.bounds, islands: choice.islands });
    this.colliders.group.visible = choice.collision;
    this.panel.showChoice();
    this.place();
  }

  push(): void {
    const { link } = this.chosen;
    if (link === 0) return;
    const direction = this.stage.camera.getWorldDirection(new THREE.Vector3());
    direction.z = Math.max(0, direction.z);
    this.around.send({ type: 'push', link, point: this.message.links[link]!.com, direction: direction.toArray() as Vec3 });
  }

  /** The selected body in the middle; all that moves where none is. */
  focus(): void {
    if (this.chosen.link > 0) this.stage.controls.target.copy(this.position(this.chosen.link));
    else this.stage.frame(this.visuals.bounds());
  }

  private position(link: number): THREE.Vector3 {
    return new THREE.Vector3(...this.message.links[link]!.com).applyMatrix4(this.motion.matrices[link]!);
  }

  /** Where the middle of a link is on the screen [px], by the last frame. */
  screen(link: number): [number, number] {
    this.motion.update(Infinity);
    this.stage.camera.updateMatrixWorld();
    const p = this.position(link).project(this.stage.camera);
    return [((p.x + 1) / 2) * innerWidth, ((1 - p.y) / 2) * innerHeight];
  }

  private place(): void {
    const { frame, matrices } = this.motion;
    if (!frame) return;
    this.visuals.place(matrices);
    if (choice.collision) this.colliders.place(matrices);
    this.overlays.update(matrices, frame);
    this.stage.touch();
  }

  private paint(): void {
    const frame = this.motion.frame;
    const wanted: Paint = {
      selected: this.chosen.link,
      states: choice.sleeping && frame ? frame.states : null,
      islands: choice.islands && frame?.islands.length ? frame.islands : null,
    };
    const { selected, states, islands } = this.painted;
    if (wanted.selected === selected && same(wanted.states, states) && same(wanted.islands, islands)) return;
    this.painted = wanted;
    this.visuals.paint(wanted);
    this.stage.touch();
  }

  update(now: number): void {
    if (this.motion.update(now)) this.place();
    this.compare.update(now);
    if (!this.framed && this.motion.frame) {
      this.framed = true;
      this.stage.frame(this.visuals.bounds());
    }
    this.paint();
    if (grab?.update()) this.stage.touch();
  }

  /** After the camera has moved. */
  drawn(): void {
    this.overlays.placeNames(this.motion.matrices, this.stage.camera);
  }

  dispose(): void {
    for (const part of [this.visuals, this.colliders, this.overlays, this.compare, this.panel]) part.dispose();
  }
}
