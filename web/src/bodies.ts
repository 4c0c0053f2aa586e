// Everything that moves, as instances, between the last two frames.
import * as THREE from 'three';
import type { Color, Frame, SceneMessage, ShapeInfo } from './protocol';
import type { ShapeLibrary } from './shapes';

const PALETTE = ['#d9734e', '#3f7cac', '#e0b04c', '#5b9279', '#8d6a9f', '#c05a6b', '#4f9da6', '#a58a5f'];
const SELECTED = new THREE.Color('#ffd166');
const ASLEEP = new THREE.Color('#8a94a6');

interface Item {
  link: number;
  local: THREE.Matrix4;
  color: THREE.Color;
  mesh: THREE.InstancedMesh;
  index: number;
}

function colorOf(color: Color | null, link: number): THREE.Color {
  if (!color) return new THREE.Color(link === 0 ? '#9aa0a8' : PALETTE[link % PALETTE.length]);
  return new THREE.Color().setRGB(color[0], color[1], color[2], THREE.SRGBColorSpace);
}

/** Shapes on links: one draw call for all that are alike. */
export class ShapeSet {
  readonly group = new THREE.Group();
  readonly items: Item[] = [];

  constructor(shapes: ShapeInfo[], library: ShapeLibrary, makeMaterial: (opacity: number) => THREE.Material) {
    const alike = new Map<string, ShapeInfo[]>();
    for (const shape of shapes) {
      if (shape.kind === 'plane') continue;
      const key = `${library.key(shape)} ${shape.color?.[3] ?? 1}`;
      alike.set(key, [...(alike.get(key) ?? []), shape]);
    }
    for (const some of alike.values()) this.add(some, library, makeMaterial(some[0]!.color?.[3] ?? 1));
  }

  private add(some: ShapeInfo[], library: ShapeLibrary, material: THREE.Material): void {
    const mesh = new THREE.InstancedMesh(library.geometry(some[0]!), material, some.length);
    mesh.frustumCulled = false;
    mesh.castShadow = mesh.receiveShadow = true;
    some.forEach((shape, index) => {
      const [px, py, pz, qw, qx, qy, qz] = shape.pose;
      const local = new THREE.Matrix4().compose(
        new THREE.Vector3(px, py, pz), new THREE.Quaternion(qx, qy, qz, qw), library.scale(shape));
      const color = colorOf(shape.color, shape.link);
      mesh.setColorAt(index, color);
      this.items.push({ link: shape.link, local, color, mesh, index });
    });
    mesh.userData.links = some.map((shape) => shape.link);
    this.group.add(mesh);
  }

  place(matrices: THREE.Matrix4[]): void {
    const m = new THREE.Matrix4();
    for (const item of this.items) item.mesh.setMatrixAt(item.index, m.multiplyMatrices(matrices[item.link]!, item.local));
    for (const child of this.group.children) {
      const mesh = child as THREE.InstancedMesh;
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null; // picking looks at it
    }
  }

  paint(selected: number, states: Uint8Array | null): void {
    const mixed = new THREE.Color();
    for (const item of this.items) {
      mixed.copy(item.color);
      if (states && item.link > 0 && states[item.link - 1] === 1) mixed.lerp(ASLEEP, 0.6);
      if (item.link === selected && selected > 0) mixed.lerp(SELECTED, 0.55);
      item.mesh.setColorAt(item.index, mixed);
      item.mesh.instanceColor!.needsUpdate = true;
    }
  }

  dispose(): void {
    for (const child of this.group.children) (child as THREE.InstancedMesh).dispose();
    this.group.removeFromParent();
  }
}

/** Poses of all links at the moment that is shown. */
export class Motion {
  readonly matrices: THREE.Matrix4[];
  private previous: Frame | null = null;
  private next: Frame | null = null;
  private arrived = 0;
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
    const from = new THREE.Quaternion();
    const to = new THREE.Quaternion();
    const one = new THREE.Vector3(1, 1, 1);
    for (let link = 1, i = 0; link < this.matrices.length; ++link, i += 7) {
      position.set(a[i]! + t * (b[i]! - a[i]!), a[i + 1]! + t * (b[i + 1]! - a[i + 1]!), a[i + 2]! + t * (b[i + 2]! - a[i + 2]!));
      from.set(a[i + 4]!, a[i + 5]!, a[i + 6]!, a[i + 3]!);
      to.set(b[i + 4]!, b[i + 5]!, b[i + 6]!, b[i + 3]!);
      this.matrices[link]!.compose(position, from.slerp(to, t), one);
    }
    return true;
  }
}
