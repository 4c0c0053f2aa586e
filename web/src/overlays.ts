// What can be shown beside the bodies: contacts, joint axes, frames, centres of mass, names.
import * as THREE from 'three';
import type { Frame, SceneMessage } from './protocol';

const STICK = new THREE.Color('#2a9d5c');
const SLIDE = new THREE.Color('#e63946');
const OPEN = new THREE.Color('#8d99ae');
const MOST_POINTS = 20000;
const MOST_NAMES = 200;

export interface OverlayChoice {
  contacts: boolean;
  collision: boolean;
  axes: boolean;
  frames: boolean;
  centres: boolean;
  names: boolean;
  sleeping: boolean;
}

function segments(count: number, vertexColors: boolean, color = 0xffffff): THREE.LineSegments {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(count * 6), 3));
  if (vertexColors) geometry.setAttribute('color', new THREE.BufferAttribute(new Float32Array(count * 6), 3));
  const material = new THREE.LineBasicMaterial({ vertexColors, color, depthTest: false, transparent: true });
  const lines = new THREE.LineSegments(geometry, material);
  lines.frustumCulled = false;
  lines.renderOrder = 5;
  return lines;
}

export class Overlays {
  readonly group = new THREE.Group();
  private readonly forces = segments(MOST_POINTS, true);
  private readonly points: THREE.InstancedMesh;
  private readonly axes: THREE.LineSegments;
  private readonly frames: THREE.LineSegments;
  private readonly centres: THREE.InstancedMesh;
  private readonly labels: HTMLElement[] = [];
  private forceScale = 0;

  constructor(
    private readonly message: SceneMessage,
    private readonly size: number,
    private readonly labelRoot: HTMLElement,
    private readonly choice: OverlayChoice,
  ) {
    const ball = new THREE.SphereGeometry(0.008 * size, 10, 8);
    const plain = () => new THREE.MeshBasicMaterial({ depthTest: false, transparent: true });
    this.points = new THREE.InstancedMesh(ball, plain(), MOST_POINTS);
    this.centres = new THREE.InstancedMesh(ball, plain(), message.links.length);
    (this.centres.material as THREE.MeshBasicMaterial).color.set('#7b2cbf');
    for (const mesh of [this.points, this.centres]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 6;
    }
    this.axes = segments(message.joints.length, false, 0x1d3557);
    this.frames = segments(3 * message.links.length, true);
    this.paintFrames();
    this.group.add(this.forces, this.points, this.axes, this.frames, this.centres);
    labelRoot.replaceChildren();
    for (const link of message.links.slice(1, 1 + MOST_NAMES)) {
      const label = document.createElement('span');
      label.textContent = link.name;
      labelRoot.append(label);
      this.labels.push(label);
    }
  }

  private paintFrames(): void {
    const colors = this.frames.geometry.getAttribute('color') as THREE.BufferAttribute;
    const rgb = ['#e63946', '#2a9d5c', '#277da1'].map((c) => new THREE.Color(c));
    for (let i = 0; i < colors.count; ++i) {
      const c = rgb[Math.floor(i / 2) % 3]!;
      colors.setXYZ(i, c.r, c.g, c.b);
    }
  }

  update(matrices: THREE.Matrix4[], frame: Frame | null): void {
    const { choice } = this;
    this.forces.visible = this.points.visible = choice.contacts;
    this.axes.visible = choice.axes;
    this.frames.visible = choice.frames;
    this.centres.visible = choice.centres;
    this.labelRoot.hidden = !choice.names;
    if (choice.contacts && frame) this.placeContacts(frame.contacts);
    if (choice.axes) this.placeAxes(matrices);
    if (choice.frames) this.placeFrames(matrices);
    if (choice.centres) this.placeCentres(matrices);
  }

  private placeContacts(contacts: Float32Array): void {
    const count = Math.min(MOST_POINTS, contacts.length / 7);
    let largest = 0;
    for (let i = 0; i < count; ++i)
      largest = Math.max(largest, Math.hypot(contacts[7 * i + 3]!, contacts[7 * i + 4]!, contacts[7 * i + 5]!));
    // the largest force seen lately is a third of the scene long
    this.forceScale = Math.max(this.forceScale * 0.995, largest);
    const scale = this.forceScale > 0 ? (0.35 * this.size) / this.forceScale : 0;
    const position = this.forces.geometry.getAttribute('position') as THREE.BufferAttribute;
    const color = this.forces.geometry.getAttribute('color') as THREE.BufferAttribute;
    const at = new THREE.Matrix4();
    for (let i = 0; i < count; ++i) {
      const [x, y, z, fx, fy, fz, state] = contacts.subarray(7 * i, 7 * i + 7) as unknown as number[];
      position.setXYZ(2 * i, x!, y!, z!);
      position.setXYZ(2 * i + 1, x! + scale * fx!, y! + scale * fy!, z! + scale * fz!);
      const c = state === 2 ? SLIDE : state === 1 ? STICK : OPEN;
      color.setXYZ(2 * i, c.r, c.g, c.b);
      color.setXYZ(2 * i + 1, c.r, c.g, c.b);
      this.points.setMatrixAt(i, at.makeTranslation(x!, y!, z!));
      this.points.setColorAt(i, c);
    }
    this.forces.geometry.setDrawRange(0, 2 * count);
    this.points.count = count;
    position.needsUpdate = color.needsUpdate = this.points.instanceMatrix.needsUpdate = true;
    if (this.points.instanceColor) this.points.instanceColor.needsUpdate = true;
  }

  private placeAxes(matrices: THREE.Matrix4[]): void {
    const position = this.axes.geometry.getAttribute('position') as THREE.BufferAttribute;
    const p = new THREE.Vector3();
    const d = new THREE.Vector3();
    this.message.joints.forEach((joint, i) => {
      const has = joint.dofs > 0 && joint.kind !== 'free';
      const [px, py, pz, qw, qx, qy, qz] = joint.frame;
      const m = matrices[joint.parent]!;
      p.set(px, py, pz).applyMatrix4(m);
      d.set(...joint.axis).applyQuaternion(new THREE.Quaternion(qx, qy, qz, qw)).transformDirection(m);
      d.multiplyScalar(has ? 0.08 * this.size : 0);
      position.setXYZ(2 * i, p.x - d.x, p.y - d.y, p.z - d.z);
      position.setXYZ(2 * i + 1, p.x + d.x, p.y + d.y, p.z + d.z);
    });
    position.needsUpdate = true;
  }

  private placeFrames(matrices: THREE.Matrix4[]): void {
    const position = this.frames.geometry.getAttribute('position') as THREE.BufferAttribute;
    const length = 0.06 * this.size;
    matrices.forEach((m, link) => {
      const e = m.elements;
      for (let k = 0; k < 3; ++k) {
        const i = 2 * (3 * link + k);
        position.setXYZ(i, e[12]!, e[13]!, e[14]!);
        position.setXYZ(i + 1, e[12]! + length * e[4 * k]!, e[13]! + length * e[4 * k + 1]!, e[14]! + length * e[4 * k + 2]!);
      }
    });
    position.needsUpdate = true;
  }

  private placeCentres(matrices: THREE.Matrix4[]): void {
    const p = new THREE.Vector3();
    const at = new THREE.Matrix4();
    this.message.links.forEach((link, i) => {
      p.set(...link.com).applyMatrix4(matrices[i]!);
      this.centres.setMatrixAt(i, at.makeTranslation(p));
    });
    this.centres.instanceMatrix.needsUpdate = true;
  }

  /** Names follow the camera too. */
  placeNames(matrices: THREE.Matrix4[], camera: THREE.Camera): void {
    if (!this.choice.names) return;
    const p = new THREE.Vector3();
    this.labels.forEach((label, i) => {
      p.set(...this.message.links[i + 1]!.com).applyMatrix4(matrices[i + 1]!).project(camera);
      label.hidden = p.z > 1;
      label.style.transform = `translate(${((p.x + 1) / 2) * innerWidth}px, ${((1 - p.y) / 2) * innerHeight}px)`;
    });
  }

  dispose(): void {
    this.group.removeFromParent();
    this.labelRoot.replaceChildren();
  }
}
