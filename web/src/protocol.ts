// All that goes over the socket; src/server/{describe,frame,commands}.cc are the other end.

export type Vec3 = [number, number, number];
/** px py pz qw qx qy qz */
export type Pose = [number, number, number, number, number, number, number];
export type Color = [number, number, number, number];

export interface LinkInfo {
  name: string;
  parent: number;
  com: Vec3;
  /** The solid box with its inertia. */
  box: { pose: Pose; half: Vec3 } | null;
}
export interface JointInfo {
  name: string;
  kind: string;
  parent: number;
  child: number;
  loop: boolean;
  frame: Pose;
  frameInChild: Pose;
  axis: Vec3;
  secondAxis: Vec3;
  q: number;
  dofs: number;
}
export interface ShapeInfo {
  link: number;
  pose: Pose;
  color: Color | null;
  kind: string;
  size?: Vec3;
  mesh?: number;
}
export interface MeshEntry {
  vertices: number;
  indices: number;
  offset: number;
}
export type UiInfo =
  | { kind: 'slider'; name: string; min: number; max: number; value: number }
  | { kind: 'button'; name: string }
  | { kind: 'text'; name: string; text: string };
export interface PlotInfo {
  title: string;
  signals: string[];
}
export interface SceneMessage {
  type: 'scene';
  name: string;
  description: string;
  /** Python files that run at each step. */
  code: string[];
  links: LinkInfo[];
  joints: JointInfo[];
  visuals: ShapeInfo[];
  colliders: ShapeInfo[];
  meshes: MeshEntry[];
  ui: UiInfo[];
  plots: PlotInfo[];
  actuators: { name: string; low: number | null; high: number | null; control: number }[];
  sensors: { name: string; size: number }[];
  keyframes: string[];
  view?: { from: Vec3; to: Vec3; fov: number };
  look: { sky: Color; ground: Color; grid: boolean; shadows: boolean };
}
export interface Settings {
  dt: number;
  substeps: number;
  integrator: string;
  contact: string;
  solver: string;
  tolerance: number;
  max_sweeps: number;
  max_newton: number;
  max_work: number;
  pyramid_faces: number;
  quickstep_iterations: number;
  threads: number;
  gravity: Vec3;
}
export interface DofProperties {
  lower: number | null;
  upper: number | null;
  damping: number;
  dry_friction: number;
}
export interface Properties {
  links: Record<string, { mass: number; friction?: number }>;
  joints: Record<string, DofProperties[]>;
}
export interface Status {
  type: 'status';
  time: number;
  steps: number;
  paused: boolean;
  /** What a behaviour failed with; the simulation stands until it is mended. */
  halted: string | null;
  /** What is doubtful in the scene, and which links are frozen. */
  troubles: string[];
  speed: number;
  realTimeFactor: number | null;
  memory: [number, number];
  hash: string | null; // of the state; only while paused, because it takes as long as many frames
  contacts: number;
  islands: number;
  rows: number;
  residual: number | null; // null: not finite
  penetration: number | null;
  kinetic: number | null;
  potential: number | null;
  times: Record<string, number>;
  clients: number;
  compare: OtherStatus | null;
  /** Robots that walk. */
  walkers: WalkerMark[];
}
/** Places [m]: the corners of what carries, zero-moment points measured and planned, and the centre of mass. */
export interface WalkerMark {
  name: string;
  support: Vec3[];
  zmp: Vec3;
  planned: Vec3;
  center: Vec3;
}
/** Of the second world, while two are compared. */
export interface OtherStatus {
  settings: Settings;
  time: number;
  hash: string | null;
  distance: number | null; // of the link that is farthest from where it is in the first world [m]
  link: string;
  residual: number | null;
  penetration: number | null;
  contacts: number;
  energy: number | null;
  step: number; // [s]
}
/** In place of the status while the server does what takes long. */
export interface Busy {
  type: 'busy';
  doing: string;
  seconds: number;
}
export type ServerMessage =
  | SceneMessage
  | Status
  | Busy
  | { type: 'settings'; settings: Settings }
  | { type: 'properties'; properties: Properties }
  | { type: 'signals'; subscription: number; names: string[] }
  | { type: 'restarted'; time: number }
  | { type: 'ui'; ui: UiInfo[]; plots: PlotInfo[] }
  | { type: 'problem'; id: number | null; where: string; what: string; remedy: string };

export type Command =
  | { type: 'play' | 'pause' | 'release' }
  | { type: 'step'; count?: number }
  | { type: 'speed'; value: number }
  | { type: 'reset'; keyframe?: string }
  | { type: 'scrub'; time: number }
  | { type: 'subscribe'; signals: string[] }
  | { type: 'show'; contacts: boolean; boxes: boolean; islands: boolean }
  | { type: 'drag'; link: number; point: Vec3; target: Vec3 }
  | { type: 'push'; link: number; point: Vec3; direction: Vec3 }
  | { type: 'set'; key: string; value: number | number[] | string | boolean }
  | { type: 'edit'; what: string; name: string; dof?: number; value: number | null }
  | { type: 'press'; name: string }
  | { type: 'compare'; settings: Record<string, number | string | boolean> | null }
  | { type: 'drop'; shape: 'box' | 'ball' | 'capsule'; at: Vec3; size: number }
  | { type: 'save'; plots: PlotInfo[] };

export interface Frame {
  time: number;
  paused: boolean;
  poses: Float32Array; // 7 for each link but the world
  contacts: Float32Array; // CONTACT numbers each: point, force, normal, friction, state
  boxes: Float32Array; // 6 each: low corner, high corner
  islands: Int32Array; // of each link but the world; empty where not asked for
  states: Uint8Array; // 0 awake, 1 asleep, 2 quarantined
  subscription: number;
  values: Float64Array;
  other: Float32Array | null; // poses in the second world, while two are compared
}

export const CONTACT = 11;
const GEOMETRY = 1;
const FRAME = 2;
const FILE = 3;

export type BinaryMessage = { geometry: ArrayBuffer } | { frame: Frame } | { file: File } | null;

function decodeFile(buffer: ArrayBuffer): File {
  const end = 8 + new DataView(buffer).getUint32(4, true);
  return new File([buffer.slice(end)], new TextDecoder().decode(buffer.slice(8, end)));
}

export function decode(buffer: ArrayBuffer): BinaryMessage {
  const head = new DataView(buffer);
  const kind = head.getUint32(0, true);
  if (kind === GEOMETRY) return { geometry: buffer.slice(4) };
  if (kind === FILE) return { file: decodeFile(buffer) };
  if (kind !== FRAME) return null;
  const [links, contacts, boxes, islands] = [8, 12, 16, 20].map((place) => head.getUint32(place, true)) as [number, number, number, number];
  let at = 32;
  const next = (bytes: number): number => (at += bytes) - bytes;
  const poses = new Float32Array(buffer, next(links * 28), links * 7);
  const points = new Float32Array(buffer, next(contacts * 4 * CONTACT), contacts * CONTACT);
  const corners = new Float32Array(buffer, next(boxes * 24), boxes * 6);
  const sets = new Int32Array(buffer, next(islands * 4), islands);
  const states = new Uint8Array(buffer, next(Math.ceil(links / 4) * 4), links);
  const subscription = head.getUint32(at, true);
  const count = head.getUint32(at + 4, true);
  const values = new Float64Array(count);
  for (let i = 0; i < count; ++i) values[i] = head.getFloat64(at + 8 + 8 * i, true);
  at += 8 + 8 * count;
  return {
    frame: {
      time: head.getFloat64(24, true),
      paused: (head.getUint32(4, true) & 1) !== 0,
      poses,
      contacts: points,
      boxes: corners,
      islands: sets,
      states,
      subscription,
      values,
      other: at < buffer.byteLength ? new Float32Array(buffer, at, links * 7) : null,
    },
  };
}
