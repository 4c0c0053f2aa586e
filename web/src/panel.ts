// The panel on the right: the scene's own elements, the world's settings, what is shown, figures, sensors.
import GUI, { type Controller } from 'lil-gui';
import type { Refused } from './connection';
import { button, byId, el, short } from './dom';
import { Field } from './field';
import { Figures } from './figures';
import { OVERLAYS, type Overlay, type OverlayChoice } from './overlays/overlays';
import type { SceneMessage, Settings, Status, UiInfo } from './protocol';
import type { Surroundings } from './view';

export const SOLVERS = ['default', 'block', 'newton', 'pgs', 'pgs-isotropic', 'springhead', 'dantzig', 'lemke', 'quickstep'];
export const CONTACTS = ['cone', 'pyramid', 'penalty'];
const INTEGRATORS = ['semi-implicit', 'symplectic', 'rk4', 'explicit'];
const MOST_ACTUATORS = 60;
const MOST_READINGS = 100;

/** What the server says against a choice stands below it. */
function complaint(controller: Controller): Refused {
  return (why) => {
    controller.domElement.querySelector('em')?.remove();
    controller.domElement.append(el('em', '', why));
    setTimeout(() => controller.domElement.querySelector('em')?.remove(), 6000);
  };
}

/** What must be made anew where it differs: all but texts and values. */
function shape(ui: UiInfo[]): string {
  return JSON.stringify(ui.map((item) => (item.kind === 'slider' ? [item.name, item.min, item.max] : [item.kind, item.name])));
}

export class Panel {
  readonly gui: GUI;
  private readonly values: Record<string, unknown> = {};
  private readonly settings = { solver: '', contact: '', integrator: '' };
  private readonly fields: { field: Field; value: (s: Settings) => number }[] = [];
  private readonly world: GUI;
  private texts: { template: string; output: HTMLElement }[] = [];
  private sliders: { signal: string; controller: Controller }[] = [];
  private buttons: Controller[] = [];
  private shape = '';
  private readonly chips = new Map<Overlay, HTMLElement>();
  private readonly readings = new Map<string, HTMLElement>();
  private readonly figures: Figures;
  private sensors: GUI | null = null;

  constructor(
    message: SceneMessage,
    private readonly choice: OverlayChoice,
    private readonly around: Surroundings,
    overlaysChanged: () => void,
  ) {
    this.gui = new GUI({ container: byId('panel'), title: 'Scene' });
    this.addUi(message.ui);
    this.addActuators(message);
    this.world = this.gui.addFolder('World').close();
    this.addWorld();
    this.addChips(this.gui.addFolder('Show'), overlaysChanged);
    this.figures = new Figures(around, message);
    const figures = this.gui.addFolder('Figures');
    if (innerHeight < 850) figures.close(); // plots want room too
    figures.$children.append(this.figures.root);
    this.addSensors(message);
  }

  /** What it shows: texts, sliders, readings where they are looked at. */
  get signals(): string[] {
    const inTexts = this.texts.flatMap(({ template }) => [...template.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]!));
    const sensors = this.sensors && !this.sensors._closed ? this.readings.keys() : [];
    return [...inTexts, ...this.sliders.map((s) => s.signal), ...sensors];
  }

  /** Other sliders, buttons and texts: above everything else, as at first. */
  setUi(ui: UiInfo[]): void {
    if (shape(ui) === this.shape) { // somebody may be moving a slider
      ui.filter((item) => item.kind === 'text').forEach((item, i) => (this.texts[i]!.template = item.text));
      return;
    }
    const isOwn = ({ signal }: { signal: string }) => signal.startsWith('ui.');
    for (const { controller } of this.sliders.filter(isOwn)) controller.destroy();
    for (const controller of this.buttons) controller.destroy();
    for (const { output } of this.texts) output.remove();
    this.sliders = this.sliders.filter((s) => !isOwn(s));
    this.buttons = [];
    this.texts = [];
    const before = this.gui.$children.children.length;
    this.addUi(ui);
    this.gui.$children.prepend(...[...this.gui.$children.children].slice(before));
  }

  private addUi(ui: UiInfo[]): void {
    this.shape = shape(ui);
    for (const item of ui) {
      if (item.kind === 'slider') this.slider(item.name, `ui.${item.name}`, item.min, item.max, item.value);
      else if (item.kind === 'button') {
        this.values[item.name] = () => this.around.send({ type: 'press', name: item.name });
        this.buttons.push(this.gui.add(this.values, item.name));
      } else {
        const output = el('div', 'text', item.text);
        this.gui.$children.append(output);
        this.texts.push({ template: item.text, output });
      }
    }
  }

  /** Moves with its signal, unless somebody moves it. */
  private slider(name: string, signal: string, min: number | null, max: number | null, value: number, into = this.gui): void {
    this.values[signal] = value;
    const controller = (min !== null && max !== null ? into.add(this.values, signal, min, max) : into.add(this.values, signal)).name(name);
    controller.onChange((x: number) => this.around.send({ type: 'set', key: signal, value: x }, complaint(controller)));
    this.sliders.push({ signal, controller });
  }

  private addActuators(message: SceneMessage): void {
    if (message.actuators.length === 0) return;
    const folder = this.gui.addFolder('Actuators');
    if (message.actuators.length > 8) folder.close();
    for (const { name, low, high, control } of message.actuators.slice(0, MOST_ACTUATORS))
      this.slider(name, `actuator.${name}`, low, high, control, folder);
  }

  private addWorld(): void {
    const choose = (key: 'solver' | 'contact' | 'integrator', options: string[], title: string) => {
      const controller = this.world.add(this.settings, key, options).name(title);
      controller.onChange((value: string) => this.around.send({ type: 'set', key: `settings.${key}`, value }, complaint(controller)));
    };
    this.setting('step', 's', 'dt', (s) => s.dt);
    this.setting('substeps', '', 'substeps', (s) => s.substeps);
    choose('solver', SOLVERS, 'solver');
    choose('contact', CONTACTS, 'contact model');
    choose('integrator', INTEGRATORS, 'integrator');
    this.setting('tolerance', 'm/s', 'tolerance', (s) => s.tolerance);
    this.setting('sweeps, at most', '', 'max_sweeps', (s) => s.max_sweeps);
    this.setting('Newton, at most', '', 'max_newton', (s) => s.max_newton);
    this.setting('work, at most', '', 'max_work', (s) => s.max_work);
    this.setting('faces of lemke', '', 'pyramid_faces', (s) => s.pyramid_faces);
    this.setting('quickstep', '', 'quickstep_iterations', (s) => s.quickstep_iterations);
    (['x', 'y', 'z'] as const).forEach((axis, k) => {
      let now: Settings['gravity'] = [0, 0, 0];
      const apply = (value: number | null, refused: Refused) => {
        if (value !== null) this.around.send({ type: 'set', key: 'gravity', value: now.map((x, i) => (i === k ? value : x)) }, refused);
      };
      const field = new Field({ label: `gravity ${axis}`, unit: 'm/s²', id: `gravity.${axis}`, apply });
      this.place(field, (s) => (now = s.gravity)[k]!);
    });
  }

  private setting(label: string, unit: string, key: string, value: (s: Settings) => number): void {
    const apply = (x: number | null, refused: Refused) => {
      if (x !== null) this.around.send({ type: 'set', key: `settings.${key}`, value: x }, refused);
    };
    this.place(new Field({ label, unit, id: key, apply }), value);
  }

  private place(field: Field, value: (s: Settings) => number): void {
    this.fields.push({ field, value });
    this.world.$children.append(field.root);
  }

  private addChips(folder: GUI, changed: () => void): void {
    const row = el('div', 'chips');
    for (const key of Object.keys(OVERLAYS) as Overlay[]) {
      const chip = button(OVERLAYS[key], `Show or hide ${OVERLAYS[key]}`, () => {
        this.choice[key] = !this.choice[key];
        changed();
      });
      chip.dataset.overlay = key;
      this.chips.set(key, chip);
      row.append(chip);
    }
    folder.$children.append(row);
    this.showChoice();
  }

  showChoice(): void {
    for (const [key, chip] of this.chips) chip.setAttribute('aria-pressed', String(this.choice[key]));
  }

  private addSensors(message: SceneMessage): void {
    const all = message.sensors.flatMap(({ name, size }) =>
      Array.from({ length: size }, (_, i) => ({ label: size > 1 ? `${name} ${i}` : name, signal: size > 1 ? `sensor.${name}.${i}` : `sensor.${name}` })));
    if (all.length === 0) return;
    this.sensors = this.gui.addFolder('Sensors').close().onOpenClose(() => this.around.subscribe());
    const table = el('div', 'figures');
    for (const { label, signal } of all.slice(0, MOST_READINGS)) {
      const output = button('–', `Plot ${signal} (with shift: in the last plot)`, (event) => this.around.plot(signal, event.shiftKey));
      this.readings.set(signal, output);
      table.append(el('span', '', label), output);
    }
    this.sensors.$children.append(table);
  }

  showSettings(settings: Settings): void {
    Object.assign(this.settings, { solver: settings.solver, contact: settings.contact, integrator: settings.integrator });
    for (const controller of this.world.controllers) controller.updateDisplay();
    for (const { field, value } of this.fields) field.show(value(settings));
  }

  showStatus(status: Status): void {
    this.figures.show(status);
  }

  update(value: (signal: string) => number | undefined): void {
    for (const { template, output } of this.texts)
      output.textContent = template.replace(/\{([^}]+)\}/g, (_, signal: string) => short(value(signal) ?? NaN));
    for (const { signal, controller } of this.sliders) {
      const x = value(signal);
      if (x === undefined || x === this.values[signal] || controller.domElement.matches(':active, :focus-within')) continue;
      this.values[signal] = x;
      controller.updateDisplay();
    }
    for (const [signal, output] of this.readings) output.textContent = short(value(signal) ?? NaN);
  }

  dispose(): void {
    this.gui.destroy();
  }
}
