// Many copies of one small thing, in one draw call, as many as each frame needs.
import * as THREE from 'three';

export class Copies {
  readonly group = new THREE.Group();
  private mesh: THREE.InstancedMesh;
  private count = 0;

  constructor(private readonly geometry: THREE.BufferGeometry, private readonly material: THREE.Material, private readonly order = 6) {
    this.mesh = this.make(16);
  }

  private make(room: number): THREE.InstancedMesh {
    const mesh = new THREE.InstancedMesh(this.geometry, this.material, room);
    mesh.frustumCulled = false;
    mesh.renderOrder = this.order;
    mesh.setColorAt(0, new THREE.Color()); // so that there are colours
    this.group.add(mesh);
    return mesh;
  }

  private grow(): void {
    const old = this.mesh;
    this.mesh = this.make(2 * old.instanceMatrix.count);
    this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
    this.mesh.instanceColor!.array.set(old.instanceColor!.array);
    this.group.remove(old);
    old.dispose();
  }

  begin(): void {
    this.count = 0;
  }
  add(at: THREE.Matrix4, color: THREE.Color): void {
    if (this.count === this.mesh.instanceMatrix.count) this.grow();
    this.mesh.setMatrixAt(this.count, at);
    this.mesh.setColorAt(this.count++, color);
  }
  end(): void {
    this.mesh.count = this.count;
    this.mesh.instanceMatrix.needsUpdate = this.mesh.instanceColor!.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.dispose();
    this.geometry.dispose();
    this.material.dispose();
  }
}

/** Seen through whatever stands before it. */
export function flat(opacity = 1): THREE.MeshBasicMaterial {
  return new THREE.MeshBasicMaterial({ depthTest: false, depthWrite: false, transparent: true, opacity, side: THREE.DoubleSide });
}

/** Of length 1 along z, from the origin; x and y are in thicknesses. */
export function arrowShape(head = 0.22): THREE.BufferGeometry {
  const outline = [[0, 0], [0.5, 0], [0.5, 1 - head], [1.5, 1 - head], [0, 1]].map(([r, z]) => new THREE.Vector2(r, z));
  return new THREE.LatheGeometry(outline, 12).rotateX(Math.PI / 2);
}
export function rodShape(): THREE.BufferGeometry {
  return new THREE.CylinderGeometry(0.5, 0.5, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5);
}
/** Apex at the origin, opens along z, height and radius 1. */
export function coneShape(): THREE.BufferGeometry {
  return new THREE.ConeGeometry(1, 1, 28, 1, true).rotateX(-Math.PI / 2).translate(0, 0, 0.5);
}

const Z = new THREE.Vector3(0, 0, 1);
const turn = new THREE.Quaternion();
const unit = new THREE.Vector3();
const stretch = new THREE.Vector3();

/** From `at`, z along `along` and as long; x and y `width` wide. */
export function placed(out: THREE.Matrix4, at: THREE.Vector3, along: THREE.Vector3, width: number, length = along.length()): THREE.Matrix4 {
  turn.setFromUnitVectors(Z, unit.copy(along).normalize());
  return out.compose(at, turn, stretch.set(width, width, length));
}
