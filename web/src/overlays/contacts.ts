// Contact points, forces as arrows, and friction cones: green where a contact sticks, red where it slides.
import * as THREE from 'three';
import { CONTACT } from '../protocol';
import { arrowShape, coneShape, Copies, flat, placed } from './copies';

const COLORS = ['#8d99ae', '#1f9d55', '#e02f3c'].map((c) => new THREE.Color(c)); // open, stick, slide

export class ContactMarks {
  readonly group = new THREE.Group();
  private readonly points: Copies;
  private readonly forces = new Copies(arrowShape(), flat(), 8);
  private readonly cones = new Copies(coneShape(), flat(0.22), 7);
  private strongest = 0; // [N] lately

  constructor(private readonly size: number) {
    this.points = new Copies(new THREE.SphereGeometry(0.007 * size, 12, 8), flat(), 9);
    this.group.add(this.points.group, this.forces.group, this.cones.group);
  }

  update(contacts: Float32Array, withForces: boolean, withCones: boolean): void {
    const all = [this.points, this.forces, this.cones];
    for (const copies of all) copies.begin();
    const scale = this.scale(contacts);
    const at = new THREE.Vector3();
    const force = new THREE.Vector3();
    const normal = new THREE.Vector3();
    const m = new THREE.Matrix4();
    for (let i = 0; i < contacts.length; i += CONTACT) {
      at.fromArray(contacts, i);
      force.fromArray(contacts, i + 3).multiplyScalar(scale);
      normal.fromArray(contacts, i + 6);
      const friction = contacts[i + 9]!;
      const color = COLORS[contacts[i + 10]!] ?? COLORS[0]!;
      if (withForces) this.points.add(m.makeTranslation(at), color);
      const height = force.dot(normal);
      if (height < 1e-3 * this.size) continue;
      if (withForces) this.forces.add(placed(m, at, force, 0.007 * this.size), color);
      // as high as the normal force, so that a force that slides ends on the rim
      if (withCones && friction > 0) this.cones.add(placed(m, at, normal, friction * height, height), color);
    }
    for (const copies of all) copies.end();
  }

  /** Metres for a newton: the strongest force of late is a quarter of the scene long. */
  private scale(contacts: Float32Array): number {
    let strongest = 0;
    for (let i = 3; i < contacts.length; i += CONTACT)
      strongest = Math.max(strongest, Math.hypot(contacts[i]!, contacts[i + 1]!, contacts[i + 2]!));
    this.strongest = Math.max(0.99 * this.strongest, strongest);
    return this.strongest > 0 ? (0.25 * this.size) / this.strongest : 0;
  }

  dispose(): void {
    for (const copies of [this.points, this.forces, this.cones]) copies.dispose();
  }
}
