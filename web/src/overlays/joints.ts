// Joint axes, and limits: a fan for angles, a rail for distances, with a hand at the present value.
import * as THREE from 'three';
import type { DofProperties, JointInfo, Pose, Properties, SceneMessage } from '../protocol';
import { Copies, flat, placed, rodShape } from './copies';

const AXIS = new THREE.Color('#1d3557');
const LOOP = new THREE.Color('#8d4fb0');
const FREE = new THREE.Color('#2878b5');
const AT_LIMIT = new THREE.Color('#e02f3c');

function matrixOf([px, py, pz, qw, qx, qy, qz]: Pose): THREE.Matrix4 {
  return new THREE.Matrix4().compose(new THREE.Vector3(px, py, pz), new THREE.Quaternion(qx, qy, qz, qw), new THREE.Vector3(1, 1, 1));
}

/** Which dof of a kind slides along the axis, and which turns about it. */
function dofsAlongAxis(kind: string): { slides: number | null; turns: number | null } {
  if (kind === 'prismatic') return { slides: 0, turns: null };
  if (kind === 'cylindrical') return { slides: 0, turns: 1 };
  return { slides: null, turns: kind === 'revolute' || kind === 'screw' ? 0 : null };
}

/** One joint's frames, and where its child stands. */
class Place {
  readonly inParent: THREE.Matrix4;
  readonly inChild: THREE.Matrix4;
  readonly axis: THREE.Vector3;
  /** z along the axis, x where angles begin. */
  readonly basis: THREE.Quaternion;
  readonly world = new THREE.Matrix4();
  readonly child = new THREE.Matrix4();

  constructor(readonly joint: JointInfo) {
    this.inParent = matrixOf(joint.frame);
    this.inChild = matrixOf(joint.frameInChild);
    this.axis = new THREE.Vector3(...joint.axis).normalize();
    this.basis = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.axis);
  }

  update(matrices: THREE.Matrix4[]): void {
    this.world.multiplyMatrices(matrices[this.joint.parent]!, this.inParent);
    this.child.copy(this.world).invert().multiply(matrices[this.joint.child]!).multiply(this.inChild);
  }
  get angle(): number {
    const q = new THREE.Quaternion().setFromRotationMatrix(this.child);
    return 2 * Math.atan2(this.axis.dot(new THREE.Vector3(q.x, q.y, q.z)), q.w);
  }
  get distance(): number {
    return new THREE.Vector3().setFromMatrixPosition(this.child).dot(this.axis);
  }
}

const bounded = (dof: DofProperties | undefined): dof is DofProperties & { lower: number; upper: number } =>
  dof !== undefined && dof.lower !== null && dof.upper !== null && dof.upper > dof.lower;

/** The same angle, as near to the middle of its limits as turns allow. */
function unwound(angle: number, lower: number, upper: number): number {
  const middle = (lower + upper) / 2;
  return angle - 2 * Math.PI * Math.round((angle - middle) / (2 * Math.PI));
}

export class JointMarks {
  readonly group = new THREE.Group();
  private readonly rods = new Copies(rodShape(), flat(0.9), 8);
  private readonly fans = new THREE.Group();
  private readonly places: Place[];
  private limits: Properties['joints'] = {};

  constructor(message: SceneMessage, private readonly size: number) {
    this.places = message.joints.filter((j) => j.kind !== 'free' && j.kind !== 'fixed').map((j) => new Place(j));
    this.group.add(this.rods.group, this.fans);
  }

  /** Fans have the shape of their limits, so they are made anew when these change. */
  setLimits(properties: Properties): void {
    this.limits = properties.joints;
    this.disposeFans();
    for (const place of this.places) {
      const { turns } = dofsAlongAxis(place.joint.kind);
      const dof = turns === null ? undefined : this.limits[place.joint.name]?.[turns];
      if (!bounded(dof)) continue;
      const angle = Math.min(2 * Math.PI, dof.upper - dof.lower);
      const shape = new THREE.RingGeometry(0.012 * this.size, 0.07 * this.size, 40, 1, dof.lower, angle);
      const fan = new THREE.Mesh(shape, flat(0.3));
      fan.renderOrder = 7;
      fan.matrixAutoUpdate = false;
      fan.userData = { place, lower: dof.lower, upper: dof.upper };
      this.fans.add(fan);
    }
  }

  update(matrices: THREE.Matrix4[]): void {
    this.rods.begin();
    for (const place of this.places) {
      place.update(matrices);
      this.axis(place, place.axis);
      if (place.joint.kind === 'universal') this.axis(place, new THREE.Vector3(...place.joint.secondAxis));
      this.rail(place);
    }
    for (const fan of this.fans.children) this.fan(fan as THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>);
    this.rods.end();
  }

  /** From `from` to `to` along a direction of the joint's frame. */
  private rod(place: Place, direction: THREE.Vector3, from: number, to: number, width: number, color: THREE.Color): void {
    const start = direction.clone().multiplyScalar(from).applyMatrix4(place.world);
    const end = direction.clone().multiplyScalar(to).applyMatrix4(place.world);
    if (to > from) this.rods.add(placed(new THREE.Matrix4(), start, end.sub(start), width), color);
  }

  private axis(place: Place, direction: THREE.Vector3): void {
    const { kind, loop } = place.joint;
    if (kind === 'spherical' || kind === 'distance') return;
    this.rod(place, direction, -0.05 * this.size, 0.05 * this.size, 0.006 * this.size, loop ? LOOP : AXIS);
  }

  private rail(place: Place): void {
    const { slides } = dofsAlongAxis(place.joint.kind);
    const dof = slides === null ? undefined : this.limits[place.joint.name]?.[slides];
    if (!bounded(dof)) return;
    const at = place.distance;
    const hand = 0.012 * this.size;
    const color = this.colorAt(at, dof.lower, dof.upper);
    this.rod(place, place.axis, dof.lower, dof.upper, 0.004 * this.size, color);
    this.rod(place, place.axis, at - hand / 2, at + hand / 2, 3 * hand, color);
  }

  private fan(fan: THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>): void {
    const { place, lower, upper } = fan.userData as { place: Place; lower: number; upper: number };
    fan.matrix.makeRotationFromQuaternion(place.basis).premultiply(place.world);
    const angle = unwound(place.angle, lower, upper);
    const color = this.colorAt(angle, lower, upper);
    fan.material.color.copy(color);
    const hand = new THREE.Vector3(Math.cos(angle), Math.sin(angle), 0).applyQuaternion(place.basis);
    this.rod(place, hand, 0, 0.08 * this.size, 0.005 * this.size, color);
  }

  private colorAt(value: number, lower: number, upper: number): THREE.Color {
    const near = 0.01 * (upper - lower);
    return value < lower + near || value > upper - near ? AT_LIMIT : FREE;
  }

  private disposeFans(): void {
    for (const fan of this.fans.children as THREE.Mesh<THREE.BufferGeometry, THREE.Material>[]) {
      fan.geometry.dispose();
      fan.material.dispose();
    }
    this.fans.clear();
  }
  dispose(): void {
    this.disposeFans();
    this.rods.dispose();
  }
}
