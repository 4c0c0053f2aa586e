// Geometry of shapes. Sizes that only stretch are left to the instance's matrix, so that alike shapes share.
import * as THREE from 'three';
import type { MeshEntry, ShapeInfo } from './protocol';

const unit = {
  sphere: () => new THREE.SphereGeometry(1, 40, 24).rotateX(Math.PI / 2),
  box: () => new THREE.BoxGeometry(2, 2, 2),
  cylinder: () => new THREE.CylinderGeometry(1, 1, 2, 48).rotateX(Math.PI / 2),
  cone: () => new THREE.ConeGeometry(1, 2, 48).rotateX(Math.PI / 2),
};

export class ShapeLibrary {
  private readonly geometries = new Map<string, THREE.BufferGeometry>();

  constructor(
    private readonly entries: MeshEntry[],
    private readonly block: ArrayBuffer,
  ) {}

  /** Alike shapes have the same key. */
  key(shape: ShapeInfo): string {
    if (shape.kind === 'mesh') return `mesh ${shape.mesh}`;
    if (shape.kind === 'capsule') return `capsule ${shape.size![0]} ${shape.size![2]}`;
    return shape.kind === 'ellipsoid' ? 'sphere' : shape.kind;
  }

  scale(shape: ShapeInfo): THREE.Vector3 {
    const [x, y, z] = shape.size ?? [1, 1, 1];
    const stretches = ['sphere', 'box', 'cylinder', 'cone', 'ellipsoid'].includes(shape.kind);
    return stretches ? new THREE.Vector3(x, y, z) : new THREE.Vector3(1, 1, 1);
  }

  geometry(shape: ShapeInfo): THREE.BufferGeometry {
    const key = this.key(shape);
    let found = this.geometries.get(key);
    if (!found) this.geometries.set(key, (found = this.make(shape)));
    return found;
  }

  private make(shape: ShapeInfo): THREE.BufferGeometry {
    if (shape.kind === 'mesh') return this.mesh(this.entries[shape.mesh!]!);
    if (shape.kind === 'capsule')
      return new THREE.CapsuleGeometry(shape.size![0], 2 * shape.size![2], 16, 32).rotateX(Math.PI / 2);
    const name = (shape.kind === 'ellipsoid' ? 'sphere' : shape.kind) as keyof typeof unit;
    return (unit[name] ?? unit.box)();
  }

  private mesh(entry: MeshEntry): THREE.BufferGeometry {
    const positions = new Float32Array(this.block, entry.offset, entry.vertices * 3);
    const indices = new Uint32Array(this.block, entry.offset + entry.vertices * 12, entry.indices);
    const shared = new THREE.BufferGeometry();
    shared.setAttribute('position', new THREE.BufferAttribute(positions, 3));
    shared.setIndex(new THREE.BufferAttribute(indices, 1));
    // flat faces: sharp edges stay sharp, and fine meshes look smooth enough
    const flat = shared.toNonIndexed();
    flat.computeVertexNormals();
    return flat;
  }
}
