// What is told of links: frames, centres of mass, boxes of the same inertia, bounding boxes, names.
import * as THREE from 'three';
import type { SceneMessage } from '../protocol';
import { arrowShape, Copies, flat, placed } from './copies';

const AXES = ['#e02f3c', '#1f9d55', '#2878b5'].map((c) => new THREE.Color(c));
const CENTRE = new THREE.Color('#7b2cbf');
const INERTIA = new THREE.Color('#e89c23');
const MOST_NAMES = 200;

export class FrameMarks {
  private readonly arrows = new Copies(arrowShape(0.3), flat(), 8);
  readonly group = this.arrows.group;

  constructor(private readonly size: number) {}

  update(matrices: THREE.Matrix4[]): void {
    const at = new THREE.Vector3();
    const along = new THREE.Vector3();
    const m = new THREE.Matrix4();
    this.arrows.begin();
    for (const pose of matrices)
      for (let k = 0; k < 3; ++k) {
        along.setFromMatrixColumn(pose, k).multiplyScalar(0.07 * this.size);
        this.arrows.add(placed(m, at.setFromMatrixPosition(pose), along, 0.006 * this.size), AXES[k]!);
      }
    this.arrows.end();
  }
  dispose(): void {
    this.arrows.dispose();
  }
}

export class CentreMarks {
  private readonly balls: Copies;
  readonly group: THREE.Group;

  constructor(private readonly message: SceneMessage, size: number) {
    this.balls = new Copies(new THREE.SphereGeometry(0.013 * size, 16, 12), flat(), 9);
    this.group = this.balls.group;
  }

  update(matrices: THREE.Matrix4[]): void {
    const at = new THREE.Vector3();
    const m = new THREE.Matrix4();
    this.balls.begin();
    this.message.links.forEach((link, i) => {
      if (link.box) this.balls.add(m.makeTranslation(at.set(...link.com).applyMatrix4(matrices[i]!)), CENTRE);
    });
    this.balls.end();
  }
  dispose(): void {
    this.balls.dispose();
  }
}

export class InertiaMarks {
  private readonly boxes = new Copies(new THREE.BoxGeometry(2, 2, 2), flat(0.35), 6);
  readonly group = this.boxes.group;
  private readonly local: (THREE.Matrix4 | null)[];

  constructor(message: SceneMessage) {
    this.local = message.links.map(({ box }) => {
      if (!box) return null;
      const [px, py, pz, qw, qx, qy, qz] = box.pose;
      return new THREE.Matrix4().compose(new THREE.Vector3(px, py, pz), new THREE.Quaternion(qx, qy, qz, qw), new THREE.Vector3(...box.half));
    });
  }

  update(matrices: THREE.Matrix4[]): void {
    const m = new THREE.Matrix4();
    this.boxes.begin();
    this.local.forEach((local, i) => local && this.boxes.add(m.multiplyMatrices(matrices[i]!, local), INERTIA));
    this.boxes.end();
  }
  dispose(): void {
    this.boxes.dispose();
  }
}

/** Corners of the 12 edges of a box: bit k chooses the high end of axis k. */
const EDGES = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3, 4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7];

export class BoundMarks {
  private readonly lines = new THREE.LineSegments(
    new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xb3541e, transparent: true, opacity: 0.9 }));
  readonly group = new THREE.Group().add(this.lines);

  constructor() {
    this.lines.frustumCulled = false;
  }

  update(boxes: Float32Array): void {
    const { geometry } = this.lines;
    const count = (boxes.length / 6) * EDGES.length;
    let position = geometry.getAttribute('position') as THREE.BufferAttribute | undefined;
    if (!position || position.count < count) {
      geometry.dispose();
      position = new THREE.BufferAttribute(new Float32Array(count * 3), 3);
      geometry.setAttribute('position', position);
    }
    for (let box = 0, at = 0; box < boxes.length; box += 6)
      for (const corner of EDGES)
        position.setXYZ(at++, boxes[box + (corner & 1 ? 3 : 0)]!, boxes[box + (corner & 2 ? 4 : 1)]!, boxes[box + (corner & 4 ? 5 : 2)]!);
    geometry.setDrawRange(0, count);
    position.needsUpdate = true;
  }
  dispose(): void {
    this.lines.geometry.dispose();
    this.lines.material.dispose();
  }
}

export class Names {
  private readonly labels: HTMLElement[] = [];

  constructor(private readonly message: SceneMessage, private readonly root: HTMLElement) {
    for (const link of message.links.slice(1, 1 + MOST_NAMES)) {
      const label = document.createElement('span');
      label.textContent = link.name;
      this.labels.push(label);
    }
    root.replaceChildren(...this.labels);
  }

  show(shown: boolean): void {
    this.root.hidden = !shown;
  }

  update(matrices: THREE.Matrix4[], camera: THREE.Camera): void {
    const p = new THREE.Vector3();
    this.labels.forEach((label, i) => {
      p.set(...this.message.links[i + 1]!.com).applyMatrix4(matrices[i + 1]!).project(camera);
      label.hidden = p.z > 1;
      label.style.transform = `translate(${((p.x + 1) / 2) * innerWidth}px, ${((1 - p.y) / 2) * innerHeight}px) translate(-50%, -50%)`;
    });
  }
  dispose(): void {
    this.root.replaceChildren();
  }
}
