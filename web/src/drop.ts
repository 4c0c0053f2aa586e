// Bodies that are dropped where the pointer is.
import * as THREE from 'three';
import type { Command, Vec3 } from './protocol';
import type { Stage } from './stage';

export type Droppable = 'box' | 'ball' | 'capsule';

export class Drop {
  private readonly ray = new THREE.Raycaster();
  private readonly pointer = new THREE.Vector2();

  constructor(
    private readonly stage: Stage,
    private readonly solid: () => THREE.Object3D[],
    private readonly send: (command: Command) => void,
  ) {
    addEventListener('pointermove', (e) =>
      this.pointer.set((e.clientX / innerWidth) * 2 - 1, 1 - (e.clientY / innerHeight) * 2));
  }

  /** Over what the pointer is on; where there is nothing, as far away as what is looked at. */
  private place(size: number): THREE.Vector3 {
    const { camera, controls } = this.stage;
    this.ray.setFromCamera(this.pointer, camera);
    const hit = this.ray.intersectObjects(this.solid(), true)[0];
    const far = camera.position.distanceTo(controls.target);
    const at = hit && hit.distance < 4 * far ? hit.point : this.ray.ray.at(far, new THREE.Vector3());
    return at.add(new THREE.Vector3(0, 0, 1.5 * size));
  }

  drop(shape: Droppable): void {
    // a good size to see from here
    const size = Math.min(10, Math.max(0.02, 0.06 * this.stage.camera.position.distanceTo(this.stage.controls.target)));
    this.send({ type: 'drop', shape, size, at: this.place(size).toArray() as Vec3 });
  }
}
