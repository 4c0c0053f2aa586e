// The panel on the right: the scene's own elements, the world's settings, overlays, figures.
import GUI from 'lil-gui';
import { el, short } from './dom';
import type { OverlayChoice } from './overlays';
import type { Command, SceneMessage, Settings, Status } from './protocol';

export const SOLVERS = ['default', 'block', 'newton', 'pgs', 'pgs-isotropic', 'springhead', 'dantzig', 'lemke'];
export const CONTACTS = ['cone', 'pyramid', 'penalty'];
const INTEGRATORS = ['semi-implicit', 'symplectic', 'rk4', 'explicit'];
const STAGES: Record<string, string> = {
  control: '#8d6a9f', dynamics: '#3f7cac', collision: '#e0b04c', rows: '#5b9279', solve: '#d9734e', integrate: '#4f9da6', finish: '#999',
};

export class Panel {
  readonly gui = new GUI({ title: 'Scene', width: 270 });
  private readonly values: Record<string, unknown> = {};
  private readonly settings: Record<string, number | string> = {};
  private readonly world: GUI;
  private readonly texts: { template: string; output: HTMLElement }[] = [];
  private readonly figures = el('div', 'figures');
  private readonly bar = el('div', 'stages');

  constructor(
    message: SceneMessage,
    choice: OverlayChoice,
    private readonly send: (command: Command) => void,
    overlaysChanged: () => void,
  ) {
    this.addUi(message);
    this.world = this.gui.addFolder('World');
    this.world.close();
    const view = this.gui.addFolder('Show');
    const titles: Record<keyof OverlayChoice, string> = {
      contacts: 'contacts and forces', collision: 'collision shapes', axes: 'joint axes', frames: 'frames',
      centres: 'centres of mass', names: 'names', sleeping: 'sleeping',
    };
    for (const key of Object.keys(titles) as (keyof OverlayChoice)[])
      view.add(choice, key).name(titles[key]).onChange(overlaysChanged).listen();
    const figures = this.gui.addFolder('Figures');
    figures.$children.append(this.bar, this.figures);
  }

  /** Signals that its texts show. */
  get signals(): string[] {
    return this.texts.flatMap(({ template }) => [...template.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]!));
  }

  private addUi(message: SceneMessage): void {
    for (const item of message.ui) {
      if (item.kind === 'slider') {
        this.values[item.name] = item.value;
        this.gui.add(this.values, item.name, item.min, item.max)
          .onChange((value: number) => this.send({ type: 'set', key: `ui.${item.name}`, value }));
      } else if (item.kind === 'button') {
        this.values[item.name] = () => this.send({ type: 'press', name: item.name });
        this.gui.add(this.values, item.name);
      } else {
        const output = el('div', 'text', item.text);
        this.gui.$children.append(output);
        this.texts.push({ template: item.text, output });
      }
    }
    for (const name of message.actuators.slice(0, 40)) {
      this.values[name] = 0;
      this.gui.add(this.values, name).onChange((value: number) => this.send({ type: 'set', key: `actuator.${name}`, value }));
    }
  }

  showSettings(settings: Settings): void {
    const { gravity, ...rest } = settings;
    const first = this.world.controllers.length === 0;
    Object.assign(this.settings, rest, { gravity: gravity[2] });
    if (!first) return this.world.controllers.forEach((c) => c.updateDisplay());
    const set = (key: string) => (value: number | string) => this.send({ type: 'set', key: `settings.${key}`, value });
    this.world.add(this.settings, 'dt', 1e-5, 0.05, 1e-5).onFinishChange(set('dt'));
    this.world.add(this.settings, 'solver', SOLVERS).onChange(set('solver'));
    this.world.add(this.settings, 'contact', CONTACTS).onChange(set('contact'));
    this.world.add(this.settings, 'integrator', INTEGRATORS).onChange(set('integrator'));
    this.world.add(this.settings, 'tolerance').decimals(12).onFinishChange(set('tolerance'));
    this.world.add(this.settings, 'max_sweeps', 1, 1000, 1).name('sweeps').onFinishChange(set('max_sweeps'));
    this.world.add(this.settings, 'max_newton', 0, 100, 1).name('Newton steps').onFinishChange(set('max_newton'));
    this.world.add(this.settings, 'gravity', -20, 5, 0.01)
      .onFinishChange((z: number) => this.send({ type: 'set', key: 'gravity', value: [0, 0, z] }));
  }

  showStatus(status: Status): void {
    const total = Object.values(status.times).reduce((a, b) => a + b, 0);
    this.bar.replaceChildren(...Object.entries(status.times).map(([stage, seconds]) => {
      const part = el('i');
      part.style.width = `${total > 0 ? (100 * seconds) / total : 0}%`;
      part.style.background = STAGES[stage] ?? '#bbb';
      part.title = `${stage}: ${(1e6 * seconds).toFixed(0)} µs`;
      return part;
    }));
    const rows: [string, string][] = [
      ['step', `${(1e3 * total).toFixed(3)} ms`],
      ['contacts', String(status.contacts)],
      ['islands', String(status.islands)],
      ['residual', `${status.residual.toExponential(1)} m/s`],
      ['penetration', `${(1e3 * status.penetration).toFixed(3)} mm`],
      ['energy', `${short(status.kinetic + status.potential)} J`],
    ];
    this.figures.replaceChildren(...rows.flatMap(([name, value]) => [el('span', '', name), el('b', '', value)]));
  }

  update(value: (signal: string) => number | undefined): void {
    for (const { template, output } of this.texts)
      output.textContent = template.replace(/\{([^}]+)\}/g, (_, signal: string) => short(value(signal) ?? NaN));
  }

  dispose(): void {
    this.gui.destroy();
  }
}
