// Everything that moves, as instances, between the last two frames.
import * as THREE from 'three';
import { makeBatch, type Batch } from './batch';
import type { Color, Frame, SceneMessage, ShapeInfo } from './protocol';
import type { ShapeLibrary } from './shapes';

const PALETTE = ['#d9734e', '#3f7cac', '#e0b04c', '#5b9279', '#8d6a9f', '#c05a6b', '#4f9da6', '#a58a5f'];
const SELECTED = new THREE.Color('#ffd166');
const ASLEEP = new THREE.Color('#8a94a6');
const ALONE = new THREE.Color('#b9bec6');

/** How bodies are coloured, beside their own colours. */
export interface Paint {
  selected: number;
  states: Uint8Array | null; // where sleeping is shown
  islands: Int32Array | null; // where islands are shown
}

interface Item {
  link: number;
  local: THREE.Matrix4;
  color: THREE.Color;
  batch: Batch;
  index: number;
}

function colorOf(color: Color | null, link: number): THREE.Color {
  if (!color) return new THREE.Color(link === 0 ? '#9aa0a8' : PALETTE[link % PALETTE.length]);
  return new THREE.Color().setRGB(color[0], color[1], color[2], THREE.SRGBColorSpace);
}

/** Islands next to each other get hues far apart: steps of the golden angle. */
function colorOfIsland(island: number, out: THREE.Color): THREE.Color {
  return island < 0 ? out.copy(ALONE) : out.setHSL((island * 0.381966) % 1, 0.62, 0.55, THREE.SRGBColorSpace);
}

/** Shapes on links: one draw call for all that are alike. */
export class ShapeSet {
  readonly group = new THREE.Group();
  private readonly items: Item[] = [];
  private readonly batches: Batch[] = [];

  constructor(shapes: ShapeInfo[], library: ShapeLibrary, software: boolean, makeMaterial: (opacity: number) => THREE.Material) {
    const alike = new Map<string, ShapeInfo[]>();
    for (const shape of shapes) {
      if (shape.kind === 'plane') continue;
      const key = `${library.key(shape)} ${shape.color?.[3] ?? 1}`;
      const some = alike.get(key);
      if (some) some.push(shape);
      else alike.set(key, [shape]);
    }
    for (const some of alike.values()) this.add(some, makeBatch(library.geometry(some[0]!), makeMaterial(some[0]!.color?.[3] ?? 1), some.length, software), library);
  }

  private add(some: ShapeInfo[], batch: Batch, library: ShapeLibrary): void {
    const { mesh } = batch;
    mesh.frustumCulled = false;
    mesh.castShadow = mesh.receiveShadow = true;
    some.forEach((shape, index) => {
      const [px, py, pz, qw, qx, qy, qz] = shape.pose;
      const local = new THREE.Matrix4().compose(
        new THREE.Vector3(px, py, pz), new THREE.Quaternion(qx, qy, qz, qw), library.scale(shape));
      const color = colorOf(shape.color, shape.link);
      batch.paint(index, color);
      this.items.push({ link: shape.link, local, color, batch, index });
    });
    mesh.userData.linkOf = (hit: THREE.Intersection) => some[batch.indexOf(hit)]?.link ?? 0;
    this.batches.push(batch);
    this.group.add(mesh);
  }

  place(matrices: THREE.Matrix4[]): void {
    const m = new THREE.Matrix4();
    for (const { link, local, batch, index } of this.items) batch.place(index, m.multiplyMatrices(matrices[link]!, local));
    for (const batch of this.batches) batch.finish();
  }

  paint({ selected, states, islands }: Paint): void {
    const mixed = new THREE.Color();
    for (const { link, color, batch, index } of this.items) {
      mixed.copy(color);
      if (islands && link > 0) colorOfIsland(islands[link - 1] ?? -1, mixed);
      if (states && link > 0 && states[link - 1] === 1) mixed.lerp(ASLEEP, 0.75);
      if (link === selected && selected > 0) mixed.lerp(SELECTED, 0.55);
      batch.paint(index, mixed);
    }
  }

  /** Around all shapes, or those that move, where they were placed last. */
  bounds(moving = false): THREE.Box3 {
    const all = new THREE.Box3();
    const one = new THREE.Box3();
    for (const { link, batch, index } of this.items) if (!moving || link > 0) all.union(batch.bounds(index, one));
    return all;
  }

  dispose(): void {
    for (const batch of this.batches) batch.dispose();
    this.group.removeFromParent();
  }
}

/** Poses of all links at the moment that is shown. */
export class Motion {
  readonly matrices: THREE.Matrix4[];
  private previous: Frame | null = null;
  private next: Frame | null = null;
  private arrived = 0; // [ms]
  private interval = 1 / 60;
  private settled = false;

  constructor(message: SceneMessage) {
    this.matrices = message.links.map(() => new THREE.Matrix4());
  }

  get frame(): Frame | null {
    return this.next;
  }

  take(frame: Frame, now: number): void {
    const jumps = !this.next || frame.time < this.next.time || frame.time - this.next.time > 0.5;
    this.interval = Math.min(0.1, Math.max(1e-3, (now - this.arrived) / 1000));
    this.previous = jumps ? frame : this.next;
    this.next = frame;
    this.arrived = now;
    this.settled = false;
  }

  /** False where nothing has moved since the last call. */
  update(now: number): boolean {
    if (!this.next || !this.previous || this.settled) return false;
    const t = Math.min(1, (now - this.arrived) / 1000 / this.interval);
    this.settled = t >= 1;
    const a = this.previous.poses;
    const b = this.next.poses;
    const position = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const one = new THREE.Vector3(1, 1, 1);
    for (let link = 1, i = 0; link < this.matrices.length; ++link, i += 7) {
      position.set(a[i]! + t * (b[i]! - a[i]!), a[i + 1]! + t * (b[i + 1]! - a[i + 1]!), a[i + 2]! + t * (b[i + 2]! - a[i + 2]!));
      // straight between the quaternions: frames are so near that the arc is no different
      const same = a[i + 3]! * b[i + 3]! + a[i + 4]! * b[i + 4]! + a[i + 5]! * b[i + 5]! + a[i + 6]! * b[i + 6]! < 0 ? -1 : 1;
      const s = 1 - t;
      const u = t * same;
      turn.set(s * a[i + 4]! + u * b[i + 4]!, s * a[i + 5]! + u * b[i + 5]!, s * a[i + 6]! + u * b[i + 6]!, s * a[i + 3]! + u * b[i + 3]!);
      this.matrices[link]!.compose(position, turn.normalize(), one);
    }
    return true;
  }
}
