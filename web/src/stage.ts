// Renderer, camera, light, sky and ground. Draws only when something has changed.
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import type { SceneMessage, Vec3 } from './protocol';
import { givenQuality, inSoftware, Quality } from './quality';
import { renderSize } from './render';

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);

const WIDE = 1.4; // aspect from which a view is as high as it asks; narrower ones are as wide instead

const colorOf = (c: readonly number[]) => new THREE.Color().setRGB(c[0]!, c[1]!, c[2]!, THREE.SRGBColorSpace);

/** One square of 5 by 5 cells; lines are darker every fifth. */
function gridTexture(sharp: boolean): THREE.Texture {
  const size = 1024;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const pen = canvas.getContext('2d')!;
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, size, size);
  for (let i = 0; i < 5; ++i) {
    const at = (i * size) / 5;
    pen.fillStyle = i === 0 ? '#bcc1c8' : '#e2e5e9';
    const width = i === 0 ? 8 : 5;
    pen.fillRect(at, 0, width, size);
    pen.fillRect(0, at, size, width);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = sharp ? 16 : 2;
  return texture;
}

/** From the horizon's haze to the sky's own colour. */
function skyDome(sky: THREE.Color, horizon: THREE.Color): THREE.Mesh {
  const material = new THREE.ShaderMaterial({
    side: THREE.BackSide,
    depthWrite: false,
    depthTest: false,
    fog: false,
    uniforms: { sky: { value: sky }, horizon: { value: horizon } },
    vertexShader: `varying vec3 d; void main() { d = normalize(position);
      gl_Position = projectionMatrix * vec4(mat3(modelViewMatrix) * position, 1.0); }`,
    fragmentShader: `varying vec3 d; uniform vec3 sky; uniform vec3 horizon;
      void main() { float t = pow(clamp(d.z, 0.0, 1.0), 0.55);
        gl_FragColor = vec4(mix(horizon, sky, t), 1.0);
        #include <colorspace_fragment>
      }`,
  });
  const dome = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 16), material);
  dome.renderOrder = -1;
  dome.frustumCulled = false;
  return dome;
}

/** 1, 2 or 5 times a power of ten, near `x`: what a cell of the grid measures. */
function roundLength(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  const lead = x / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

export class Stage {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(45, 1, 0.02, 2000);
  readonly renderer: THREE.WebGLRenderer;
  readonly controls: OrbitControls;
  /** The processor draws; with `plain`, what people look at, so that it is in a hurry. */
  readonly software: boolean;
  private readonly plain: boolean;
  private readonly sun = new THREE.DirectionalLight(0xfff6ea, 1.75);
  private readonly dressing = new THREE.Group();
  private readonly quality: Quality;
  /** Half the width of what the shadow covers [m]. */
  private reach = 8;
  private fixed: { width: number; height: number } | null = null;
  private fov = 45;
  private changed = true;
  private shadows = true; // as the scene wishes
  /** Pictures drawn so far. */
  drawn = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: givenQuality() !== 0, preserveDrawingBuffer: true });
    this.renderer.debug.checkShaderErrors = false; // asking waits for each of them
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.sun.shadow.radius = 3;
    this.scene.add(this.sun, this.sun.target, this.dressing);
    this.scene.add(new THREE.HemisphereLight(0xf4f7ff, 0xc4bfb8, 2));
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.software = inSoftware(this.renderer);
    this.plain = this.software && !renderSize();
    this.quality = new Quality(this.renderer, this.sun, this.plain);
    addEventListener('resize', () => this.resize());
    this.resize();
  }

  /** The next render() draws. */
  touch(): void {
    this.changed = true;
  }

  /** What lies under everything. */
  get grounds(): THREE.Object3D[] {
    return this.dressing.children.slice(1); // the first is the sky
  }

  dress(message: SceneMessage, keepCamera = false): void {
    this.dressing.clear();
    const { look } = message;
    const sky = colorOf(look.sky);
    const haze = sky.clone().lerp(new THREE.Color(0xffffff), 0.7);
    this.dressing.add(skyDome(sky, haze));
    this.shadows = look.shadows;
    if (!keepCamera) this.lookAt(message.view?.from ?? [3, -3, 2], message.view?.to ?? [0, 0, 0], message.view?.fov);
    const far = this.camera.position.distanceTo(this.controls.target);
    this.scene.fog = new THREE.Fog(haze, 4 * far, 18 * far);
    for (const plane of message.visuals.filter((v) => v.kind === 'plane' && v.link === 0))
      this.dressing.add(this.ground(plane.pose, colorOf(look.ground), look.grid, far));
  }

  lookAt(from: Vec3, to: Vec3, fov = Math.PI / 4): void {
    this.camera.position.set(...from);
    this.controls.target.set(...to);
    this.fov = THREE.MathUtils.radToDeg(fov);
    const far = this.camera.position.distanceTo(this.controls.target);
    this.reach = 1.1 * far;
    this.camera.near = far / 100;
    this.camera.far = 60 * far;
    this.project();
    this.controls.update();
  }

  /** Moves the view sideways and away, or back again. */
  shift(by: THREE.Vector3, back: number): void {
    const eye = this.camera.position.clone().sub(this.controls.target).multiplyScalar(back);
    this.controls.target.add(by);
    this.camera.position.copy(this.controls.target).add(eye);
    this.reach *= back;
    this.camera.near *= back;
    this.camera.far *= back;
    this.project();
    this.controls.update();
  }

  /** How wide what one sees is where one looks [m], between the panels. */
  get width(): number {
    const far = this.camera.position.distanceTo(this.controls.target);
    const covered = document.body.classList.contains('bare') || innerWidth < 620 ? 0 : 600;
    const high = 2 * far * Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2));
    return high * this.camera.aspect * Math.max(0.4, 1 - covered / innerWidth);
  }

  /** Looks at a box from where one sees all of it. */
  frame(box: THREE.Box3): void {
    const ball = box.getBoundingSphere(new THREE.Sphere());
    const far = Math.max(0.1, ball.radius) / Math.sin(THREE.MathUtils.degToRad(this.fov / 2));
    const from = new THREE.Vector3(0.55, -0.75, 0.38).normalize().multiplyScalar(far).add(ball.center);
    this.lookAt(from.toArray() as Vec3, ball.center.toArray() as Vec3);
  }

  /** What bodies are made of. Highlights take twice the time where the processor draws. */
  surface(look: THREE.MeshStandardMaterialParameters): THREE.MeshStandardMaterial | THREE.MeshLambertMaterial {
    if (!this.plain) return new THREE.MeshStandardMaterial(look);
    const { roughness: _, metalness: __, ...rest } = look;
    return new THREE.MeshLambertMaterial(rest);
  }

  private ground(pose: number[], color: THREE.Color, grid: boolean, far: number): THREE.Mesh {
    const extent = 40 * far;
    const material = this.surface({ color: color.lerp(new THREE.Color(0xf4f8ff), 0.6), roughness: 0.95 });
    if (grid) {
      const square = 5 * roundLength(far / 12);
      material.map = gridTexture(!this.plain);
      material.map.repeat.set(extent / square, extent / square);
      material.map.offset.set((extent / square / 2) % 1, (extent / square / 2) % 1).negate(); // a line through the origin
    }
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(extent, extent), material);
    mesh.position.set(pose[0]!, pose[1]!, pose[2]!);
    mesh.quaternion.set(pose[4]!, pose[5]!, pose[6]!, pose[3]!);
    mesh.receiveShadow = true;
    return mesh;
  }

  /** Of a picture that does not go with the window. */
  fix(size: { width: number; height: number }): void {
    this.fixed = size;
    this.controls.enableDamping = false;
    this.resize();
  }

  /** Makes the canvas anew, which takes its time: only where its size has changed. */
  private resize(): void {
    const { width, height } = this.fixed ?? { width: innerWidth, height: innerHeight };
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.project();
  }

  private project(): void {
    const half = Math.tan(THREE.MathUtils.degToRad(this.fov / 2)) * Math.max(1, WIDE / this.camera.aspect);
    this.camera.fov = THREE.MathUtils.radToDeg(2 * Math.atan(half));
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }

  /** The light goes with the view, so that shadows are sharp where one looks. */
  private placeSun(): void {
    const target = this.controls.target;
    this.sun.target.position.copy(target);
    this.sun.position.set(target.x - 0.6 * this.reach, target.y - 0.95 * this.reach, target.z + 1.45 * this.reach);
    this.sun.shadow.normalBias = 0.002 * this.reach;
    this.sun.shadow.bias = -0.0003;
    const eye = this.sun.shadow.camera;
    eye.left = eye.bottom = -this.reach;
    eye.right = eye.top = this.reach;
    eye.near = 0.1 * this.reach;
    eye.far = 5 * this.reach;
    eye.updateProjectionMatrix();
  }

  /** Draws where something has changed; true then. */
  render(now: number): boolean {
    if (this.controls.update()) this.changed = true;
    if (!this.changed) {
      this.quality.idle();
      return false;
    }
    if (!this.quality.due(now)) return false;
    this.changed = false;
    this.sun.castShadow = this.shadows && this.renderer.shadowMap.enabled; // materials follow the light alone
    this.placeSun();
    this.renderer.render(this.scene, this.camera);
    ++this.drawn;
    if (this.quality.drew(now)) this.resize();
    return true;
  }
}
