// Of robots that walk: what carries, drawn on the floor, with the zero-moment point in it.
import * as THREE from 'three';
import type { WalkerMark } from '../protocol';
import { Copies, flat } from './copies';

const SUPPORT = new THREE.Color('#3f7cac');
const POINTS: ['planned' | 'zmp' | 'center', number, THREE.Color][] = [
  ['planned', 1.4, new THREE.Color('#f2c14e')],
  ['zmp', 1, new THREE.Color('#e02f3c')],
  ['center', 0.7, new THREE.Color('#24292f')],
];
const HEIGHT = 0.002; // above the floor [m]

export class WalkerMarks {
  readonly group = new THREE.Group();
  private readonly points: Copies;
  private readonly lines: THREE.LineSegments;

  constructor(private readonly size: number) {
    this.points = new Copies(new THREE.CircleGeometry(1, 24), flat(), 8);
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: SUPPORT, depthTest: false, transparent: true }));
    this.lines.renderOrder = 7;
    this.lines.frustumCulled = false;
    this.group.add(this.points.group, this.lines);
  }

  update(walkers: WalkerMark[]): void {
    const at = new THREE.Matrix4();
    const ends: number[] = [];
    this.points.begin();
    for (const { support, ...points } of walkers) {
      const floor = support.length ? Math.max(...support.map(([, , z]) => z)) + HEIGHT : HEIGHT;
      support.forEach(([x, y, z], i) => {
        const [nextX, nextY, nextZ] = support[(i + 1) % support.length]!;
        ends.push(x, y, z + HEIGHT, nextX, nextY, nextZ + HEIGHT);
      });
      for (const [key, scale, color] of POINTS) {
        const radius = 0.008 * scale * this.size;
        this.points.add(at.makeScale(radius, radius, 1).setPosition(points[key][0], points[key][1], floor), color);
      }
    }
    this.points.end();
    this.lines.geometry.setAttribute('position', new THREE.Float32BufferAttribute(ends, 3));
  }

  dispose(): void {
    this.points.dispose();
    this.lines.geometry.dispose();
    (this.lines.material as THREE.Material).dispose();
  }
}
