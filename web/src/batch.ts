// Shapes that are alike, in one draw call: instances on a graphics card. The software that stands in for one draws each
// instance as if it were alone; there few enough are one mesh, moved here.
import * as THREE from 'three';

export interface Batch {
  readonly mesh: THREE.Mesh;
  place(index: number, matrix: THREE.Matrix4): void;
  paint(index: number, color: THREE.Color): void;
  /** After all were placed. */
  finish(): void;
  /** Around one, where it was placed last. */
  bounds(index: number, out: THREE.Box3): THREE.Box3;
  /** Which one a ray has hit. */
  indexOf(hit: THREE.Intersection): number;
  dispose(): void;
}

const MOST_VERTICES = 60_000; // of a merged mesh: 3 ms to move

export function makeBatch(geometry: THREE.BufferGeometry, material: THREE.Material, count: number, software: boolean): Batch {
  const merge = software && count * geometry.attributes.position!.count <= MOST_VERTICES;
  return merge ? new Merged(geometry, material, count) : new Instances(geometry, material, count);
}

class Instances implements Batch {
  readonly mesh: THREE.InstancedMesh;
  private readonly matrix = new THREE.Matrix4();

  constructor(geometry: THREE.BufferGeometry, private readonly material: THREE.Material, count: number) {
    this.mesh = new THREE.InstancedMesh(geometry, material, count);
    this.mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    if (!geometry.boundingBox) geometry.computeBoundingBox();
  }

  place(index: number, matrix: THREE.Matrix4): void {
    matrix.toArray(this.mesh.instanceMatrix.array, 16 * index);
  }
  paint(index: number, color: THREE.Color): void {
    this.mesh.setColorAt(index, color);
    this.mesh.instanceColor!.needsUpdate = true;
  }
  finish(): void {
    this.mesh.instanceMatrix.needsUpdate = true;
    this.mesh.boundingSphere = null; // picking looks at it
  }
  bounds(index: number, out: THREE.Box3): THREE.Box3 {
    this.mesh.getMatrixAt(index, this.matrix);
    return out.copy(this.mesh.geometry.boundingBox!).applyMatrix4(this.matrix);
  }
  indexOf(hit: THREE.Intersection): number {
    return hit.instanceId ?? 0;
  }
  dispose(): void {
    this.mesh.dispose();
    this.material.dispose();
  }
}

class Merged implements Batch {
  readonly mesh: THREE.Mesh;
  private readonly positions: THREE.BufferAttribute;
  private readonly normals: THREE.BufferAttribute;
  private readonly colors: THREE.BufferAttribute;
  private readonly vertices: number; // of one
  private readonly faces: number;

  constructor(private readonly one: THREE.BufferGeometry, private readonly material: THREE.Material, count: number) {
    const index = one.index ? one.index.array : Uint32Array.from({ length: one.attributes.position!.count }, (_, i) => i);
    this.vertices = one.attributes.position!.count;
    this.faces = index.length / 3;
    const attribute = () => new THREE.BufferAttribute(new Float32Array(3 * this.vertices * count), 3).setUsage(THREE.DynamicDrawUsage);
    [this.positions, this.normals, this.colors] = [attribute(), attribute(), attribute()];
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', this.positions).setAttribute('normal', this.normals).setAttribute('color', this.colors);
    const all = new Uint32Array(index.length * count);
    for (let i = 0; i < all.length; ++i) all[i] = index[i % index.length]! + this.vertices * Math.floor(i / index.length);
    geometry.setIndex(new THREE.BufferAttribute(all, 1));
    material.vertexColors = true;
    this.mesh = new THREE.Mesh(geometry, material);
    if (!one.boundingBox) one.computeBoundingBox();
  }

  /** Columns of the matrix are at right angles, so that normals go with each divided by its squared length. */
  place(index: number, matrix: THREE.Matrix4): void {
    const [a0, a1, a2, , b0, b1, b2, , c0, c1, c2, , x, y, z] = matrix.elements;
    const a = 1 / (a0 * a0 + a1 * a1 + a2 * a2);
    const b = 1 / (b0 * b0 + b1 * b1 + b2 * b2);
    const c = 1 / (c0 * c0 + c1 * c1 + c2 * c2);
    const p = this.one.attributes.position!.array;
    const n = this.one.attributes.normal!.array;
    const positions = this.positions.array;
    const normals = this.normals.array;
    for (let i = 0, to = 3 * this.vertices * index; i < 3 * this.vertices; i += 3, to += 3) {
      const [px, py, pz] = [p[i]!, p[i + 1]!, p[i + 2]!];
      positions[to] = a0 * px + b0 * py + c0 * pz + x;
      positions[to + 1] = a1 * px + b1 * py + c1 * pz + y;
      positions[to + 2] = a2 * px + b2 * py + c2 * pz + z;
      const [nx, ny, nz] = [a * n[i]!, b * n[i + 1]!, c * n[i + 2]!];
      normals[to] = a0 * nx + b0 * ny + c0 * nz;
      normals[to + 1] = a1 * nx + b1 * ny + c1 * nz;
      normals[to + 2] = a2 * nx + b2 * ny + c2 * nz;
    }
  }
  paint(index: number, color: THREE.Color): void {
    for (let i = this.vertices * index; i < this.vertices * (index + 1); ++i) this.colors.setXYZ(i, color.r, color.g, color.b);
    this.colors.needsUpdate = true;
  }
  finish(): void {
    this.positions.needsUpdate = this.normals.needsUpdate = true;
    this.mesh.geometry.boundingSphere = null; // picking looks at it
  }
  bounds(index: number, out: THREE.Box3): THREE.Box3 {
    out.makeEmpty();
    const point = new THREE.Vector3();
    for (let i = this.vertices * index; i < this.vertices * (index + 1); ++i) out.expandByPoint(point.fromBufferAttribute(this.positions, i));
    return out;
  }
  indexOf(hit: THREE.Intersection): number {
    return Math.floor((hit.faceIndex ?? 0) / this.faces);
  }
  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
  }
}
