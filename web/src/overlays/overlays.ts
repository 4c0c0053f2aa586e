// What can be shown beside the bodies.
import * as THREE from 'three';
import type { Frame, Properties, SceneMessage, WalkerMark } from '../protocol';
import { ContactMarks } from './contacts';
import { JointMarks } from './joints';
import { BoundMarks, CentreMarks, FrameMarks, InertiaMarks, Names } from './links';
import { WalkerMarks } from './walkers';

/** Each with its title in the panel. */
export const OVERLAYS = {
  contacts: 'contact forces',
  cones: 'friction cones',
  joints: 'joint axes, limits',
  frames: 'frames',
  centres: 'centres of mass',
  inertia: 'inertia boxes',
  collision: 'collision shapes',
  bounds: 'bounding boxes',
  islands: 'islands',
  sleeping: 'sleeping',
  names: 'names',
} as const;
export type Overlay = keyof typeof OVERLAYS;
export type OverlayChoice = Record<Overlay, boolean>;

export class Overlays {
  readonly group = new THREE.Group();
  private readonly contacts: ContactMarks;
  private readonly joints: JointMarks;
  private readonly frames: FrameMarks;
  private readonly centres: CentreMarks;
  private readonly inertia: InertiaMarks;
  private readonly bounds = new BoundMarks();
  private readonly names: Names;
  private readonly walkers: WalkerMarks;

  constructor(message: SceneMessage, size: number, labels: HTMLElement, private readonly choice: OverlayChoice) {
    this.contacts = new ContactMarks(size);
    this.joints = new JointMarks(message, size);
    this.frames = new FrameMarks(size);
    this.centres = new CentreMarks(message, size);
    this.inertia = new InertiaMarks(message);
    this.names = new Names(message, labels);
    this.walkers = new WalkerMarks(size);
    for (const part of this.parts()) this.group.add(part.group);
  }

  private parts() {
    return [this.contacts, this.joints, this.frames, this.centres, this.inertia, this.bounds, this.walkers];
  }

  setProperties(properties: Properties): void {
    this.joints.setLimits(properties);
  }

  setWalkers(walkers: WalkerMark[]): void {
    this.walkers.update(walkers);
  }

  update(matrices: THREE.Matrix4[], frame: Frame): void {
    const { choice } = this;
    this.contacts.group.visible = choice.contacts || choice.cones;
    this.joints.group.visible = choice.joints;
    this.frames.group.visible = choice.frames;
    this.centres.group.visible = choice.centres;
    this.inertia.group.visible = choice.inertia;
    this.bounds.group.visible = choice.bounds;
    this.names.show(choice.names);
    if (choice.contacts || choice.cones) this.contacts.update(frame.contacts, choice.contacts, choice.cones);
    if (choice.joints) this.joints.update(matrices);
    if (choice.frames) this.frames.update(matrices);
    if (choice.centres) this.centres.update(matrices);
    if (choice.inertia) this.inertia.update(matrices);
    if (choice.bounds) this.bounds.update(frame.boxes);
  }

  /** Names follow the camera too. */
  placeNames(matrices: THREE.Matrix4[], camera: THREE.Camera): void {
    if (this.choice.names) this.names.update(matrices, camera);
  }

  dispose(): void {
    this.group.removeFromParent();
    for (const part of [...this.parts(), this.names]) part.dispose();
  }
}
