// Renderer, camera, light, sky and ground.
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import type { SceneMessage } from './protocol';

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);

function gridTexture(): THREE.Texture {
  const size = 1024;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const pen = canvas.getContext('2d')!;
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, size, size);
  for (let i = 0; i < 5; ++i) {
    const at = (i * size) / 5;
    pen.fillStyle = i === 0 ? '#a9adb5' : '#dfe1e5';
    const width = i === 0 ? 8 : 4;
    pen.fillRect(at, 0, width, size);
    pen.fillRect(0, at, size, width);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = 16;
  return texture;
}

/** From the horizon's haze to the sky's own colour. */
function skyDome(sky: THREE.Color, horizon: THREE.Color): THREE.Mesh {
  const material = new THREE.ShaderMaterial({
    side: THREE.BackSide,
    depthWrite: false,
    fog: false,
    uniforms: { sky: { value: sky }, horizon: { value: horizon } },
    vertexShader: `varying vec3 d; void main() { d = normalize(position);
      gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
    fragmentShader: `varying vec3 d; uniform vec3 sky; uniform vec3 horizon;
      void main() { float t = pow(clamp(d.z, 0.0, 1.0), 0.55);
        gl_FragColor = vec4(mix(horizon, sky, t), 1.0); 
        #include <colorspace_fragment>
      }`,
  });
  const dome = new THREE.Mesh(new THREE.SphereGeometry(800, 32, 16), material);
  dome.renderOrder = -1;
  return dome;
}

export class Stage {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(45, 1, 0.02, 2000);
  readonly renderer: THREE.WebGLRenderer;
  readonly controls: OrbitControls;
  private readonly sun = new THREE.DirectionalLight(0xfff3e0, 2.6);
  private readonly dressing = new THREE.Group();
  private fixed: { width: number; height: number } | null = null;
  /** Half the width of what the shadow covers [m]. */
  private reach = 8;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 4;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sun, this.sun.target, this.dressing);
    this.scene.add(new THREE.HemisphereLight(0xdfeaff, 0x9a938a, 1.5));
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    addEventListener('resize', () => this.resize());
    this.resize();
  }

  /** What lies under everything. */
  get grounds(): THREE.Object3D[] {
    return this.dressing.children.slice(1); // the first is the sky
  }

  dress(message: SceneMessage, size: number, keepCamera = false): void {
    this.dressing.clear();
    const { look, view } = message;
    const sky = new THREE.Color().setRGB(look.sky[0], look.sky[1], look.sky[2], THREE.SRGBColorSpace);
    const haze = sky.clone().lerp(new THREE.Color(0xffffff), 0.65);
    this.scene.fog = new THREE.Fog(haze, 12 * size + 20, 60 * size + 120);
    this.dressing.add(skyDome(sky, haze));
    this.renderer.shadowMap.enabled = look.shadows;
    for (const plane of message.visuals.filter((v) => v.kind === 'plane' && v.link === 0))
      this.dressing.add(this.ground(plane.pose, look, size));
    if (keepCamera) return;
    if (view) {
      this.camera.position.set(...view.from);
      this.controls.target.set(...view.to);
      this.camera.fov = THREE.MathUtils.radToDeg(view.fov);
    } else {
      this.camera.position.set(1.6 * size, -1.9 * size, 1.2 * size);
      this.controls.target.set(0, 0, 0.35 * size);
    }
    this.reach = 1.3 * this.camera.position.distanceTo(this.controls.target);
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  private ground(pose: number[], look: SceneMessage['look'], size: number): THREE.Mesh {
    const extent = 60 * size + 200;
    const color = new THREE.Color().setRGB(look.ground[0], look.ground[1], look.ground[2], THREE.SRGBColorSpace);
    const material = new THREE.MeshStandardMaterial({ color: color.lerp(new THREE.Color(0xffffff), 0.35), roughness: 0.95 });
    if (look.grid) {
      material.map = gridTexture();
      material.map.repeat.set(extent / 5, extent / 5);
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
    this.renderer.setPixelRatio(1);
    this.controls.enableDamping = false;
    this.resize();
  }

  private resize(): void {
    const { width, height } = this.fixed ?? { width: innerWidth, height: innerHeight };
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  /** The light goes with the view, so that shadows are sharp where one looks. */
  private placeSun(): void {
    const target = this.controls.target;
    this.sun.target.position.copy(target);
    this.sun.position.set(target.x - 0.55 * this.reach, target.y - 0.8 * this.reach, target.z + 1.5 * this.reach);
    const eye = this.sun.shadow.camera;
    eye.left = eye.bottom = -this.reach;
    eye.right = eye.top = this.reach;
    eye.near = 0.01;
    eye.far = 5 * this.reach;
    eye.updateProjectionMatrix();
  }

  render(): void {
    this.controls.update();
    this.placeSun();
    this.renderer.render(this.scene, this.camera);
  }
}
