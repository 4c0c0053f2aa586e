// Picking and dragging, with mouse or finger: the body hangs on a spring to the pointer.
import * as THREE from 'three';
import type { Send } from './connection';
import type { Vec3 } from './protocol';
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
  private readonly local = new THREE.Vector3();
  private readonly target = new THREE.Vector3();
  private readonly start = new THREE.Vector2();
  private pointer: number | null = null; // that went down; others are the camera's
  private link = 0; // 0: it went down beside the bodies
  private dragging = false;
  private moved = false; // since it was told

  constructor(
    private readonly stage: Stage,
    private readonly scenery: Scenery,
    private readonly send: Send,
    private readonly select: (link: number) => void,
  ) {
    const geometry = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]);
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0xe02f3c, depthTest: false }));
    this.line.visible = this.line.frustumCulled = false;
    this.line.renderOrder = 10;
    stage.scene.add(this.line);
    // before the camera's own controls hear of it
    stage.canvas.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
    addEventListener('pointermove', (e) => this.move(e));
    addEventListener('pointerup', (e) => this.up(e));
    addEventListener('pointercancel', (e) => this.up(e));
  }

  private aim(e: PointerEvent): void {
    this.ray.setFromCamera(new THREE.Vector2((e.clientX / innerWidth) * 2 - 1, 1 - (e.clientY / innerHeight) * 2), this.stage.camera);
  }

  private down(e: PointerEvent): void {
    if (this.pointer !== null || e.button !== 0 || e.shiftKey) return;
    this.pointer = e.pointerId;
    this.start.set(e.clientX, e.clientY);
    this.aim(e);
    const hit = this.ray.intersectObjects(this.scenery.pickable(), false)[0];
    const linkOf = hit?.object.userData.linkOf as ((hit: THREE.Intersection) => number) | undefined;
    this.link = linkOf?.(hit!) ?? 0;
    if (this.link === 0 || !hit) return;
    this.select(this.link);
    this.local.copy(hit.point).applyMatrix4(this.scenery.matrix(this.link).clone().invert());
    this.plane.setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new THREE.Vector3()), hit.point);
    this.stage.controls.enabled = false;
  }

  private far(e: PointerEvent): boolean {
    return Math.hypot(e.clientX - this.start.x, e.clientY - this.start.y) >= SLACK;
  }

  private move(e: PointerEvent): void {
    if (e.pointerId !== this.pointer || this.link === 0 || (!this.dragging && !this.far(e))) return;
    this.aim(e);
    if (!this.ray.ray.intersectPlane(this.plane, this.target)) return;
    this.dragging = this.moved = true;
  }

  private up(e: PointerEvent): void {
    if (e.pointerId !== this.pointer) return;
    if (this.dragging) this.send({ type: 'release' });
    else if (this.link === 0 && !this.far(e)) this.select(0);
    this.pointer = null;
    this.link = 0;
    this.dragging = this.moved = false;
    this.stage.controls.enabled = true;
  }

  /** Once for each picture; true where the line is to be seen, or was. */
  update(): boolean {
    const was = this.line.visible;
    this.line.visible = this.dragging;
    if (!this.dragging) return was;
    if (this.moved) this.send({ type: 'drag', link: this.link, point: this.local.toArray() as Vec3, target: this.target.toArray() as Vec3 });
    this.moved = false;
    const from = this.local.clone().applyMatrix4(this.scenery.matrix(this.link));
    this.line.geometry.setFromPoints([from, this.target]);
    return true;
  }
}
