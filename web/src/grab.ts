// Picking and dragging, with mouse or finger: the body hangs on a spring to the pointer.
import * as THREE from 'three';
import type { Command, Vec3 } from './protocol';
import type { Stage } from './stage';

const SLACK = 4; // [px] that make a drag of a click

export interface Scenery {
  pickable(): THREE.Object3D[];
  matrix(link: number): THREE.Matrix4;
}

export class Grab {
  private readonly ray = new THREE.Raycaster();
  private readonly plane = new THREE.Plane();
  private readonly line: THREE.Line;
  private link = 0;
  private local = new THREE.Vector3();
  private target = new THREE.Vector3();
  private start = new THREE.Vector2();
  private dragging = false;

  constructor(
    private readonly stage: Stage,
    private readonly scenery: Scenery,
    private readonly send: (command: Command) => void,
    private readonly select: (link: number) => void,
  ) {
    const geometry = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]);
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0xe63946, depthTest: false }));
    this.line.visible = this.line.frustumCulled = false;
    this.line.renderOrder = 10;
    stage.scene.add(this.line);
    // before the camera's own controls hear of it
    stage.canvas.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
    addEventListener('pointermove', (e) => this.move(e));
    addEventListener('pointerup', () => this.up());
    addEventListener('pointercancel', () => this.up());
  }

  private aim(e: PointerEvent): void {
    this.ray.setFromCamera(new THREE.Vector2((e.clientX / innerWidth) * 2 - 1, 1 - (e.clientY / innerHeight) * 2), this.stage.camera);
  }

  private down(e: PointerEvent): void {
    if (e.button !== 0 || e.shiftKey) return;
    this.aim(e);
    const hit = this.ray.intersectObjects(this.scenery.pickable(), false)[0];
    const links = hit?.object.userData.links as number[] | undefined;
    const link = links?.[hit!.instanceId ?? 0] ?? 0;
    this.select(link);
    if (link === 0 || !hit) return;
    this.link = link;
    this.start.set(e.clientX, e.clientY);
    this.local.copy(hit.point).applyMatrix4(this.scenery.matrix(link).clone().invert());
    this.plane.setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new THREE.Vector3()), hit.point);
    this.stage.controls.enabled = false;
  }

  private move(e: PointerEvent): void {
    if (this.link === 0) return;
    if (!this.dragging && this.start.distanceTo(new THREE.Vector2(e.clientX, e.clientY)) < SLACK) return;
    this.dragging = true;
    this.aim(e);
    if (!this.ray.ray.intersectPlane(this.plane, this.target)) return;
    this.send({ type: 'drag', link: this.link, point: this.local.toArray() as Vec3, target: this.target.toArray() as Vec3 });
  }

  private up(): void {
    if (this.dragging) this.send({ type: 'release' });
    this.link = 0;
    this.dragging = false;
    this.stage.controls.enabled = true;
  }

  update(): void {
    this.line.visible = this.dragging;
    if (!this.dragging) return;
    const from = this.local.clone().applyMatrix4(this.scenery.matrix(this.link));
    this.line.geometry.setFromPoints([from, this.target]);
  }
}
