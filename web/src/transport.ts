// Play, pause, step, speed, reset, and back through the last seconds; pictures, films and help.
import type { Send } from './connection';
import { button, el } from './dom';
import { icon } from './icons';
import type { SceneMessage, Status } from './protocol';

export interface TransportActions {
  help(): void;
  picture(): void;
  film(): void;
  panels(): void;
}

function slider(className: string, title: string): HTMLInputElement {
  const input = el('input', className);
  input.type = 'range';
  input.title = title;
  input.setAttribute('aria-label', title);
  return input;
}

export class Transport {
  private readonly play: HTMLButtonElement;
  private readonly record: HTMLButtonElement;
  private readonly keyframes = el('select');
  private readonly time = el('output', 'time');
  private readonly factor = el('output', 'factor');
  private readonly scrub = slider('scrub', 'Back through the last 30 s');
  private readonly speed = slider('speed', 'Speed, 0.01 to 10; double click: real time');
  private readonly speedText = el('output', 'speed-text');
  private scrubbing = false;
  private tuning = false;
  private paused = false;

  constructor(root: HTMLElement, private readonly send: Send, actions: TransportActions) {
    const reset = this.button('reset', 'Back to the start (R)', () => this.reset());
    this.play = this.button('pause', 'Pause (space)', () => this.toggle());
    this.play.id = 'play';
    reset.id = 'reset';
    const step = this.button('step', 'One step (.)', () => this.step());
    step.id = 'step';
    this.record = this.button('film', 'Record a film (V)', actions.film);
    this.keyframes.title = 'Start from a keyframe';
    this.keyframes.hidden = true;
    this.keyframes.onchange = () => {
      this.reset();
      this.keyframes.blur();
    };
    this.setUpSliders();
    const end = el('span', 'end');
    end.append(this.button('picture', 'Picture as PNG (I)', actions.picture), this.record,
      this.button('panels', 'Hide or show the panels (H)', actions.panels), this.button('help', 'Keys (?)', actions.help));
    root.append(reset, this.keyframes, this.play, step, this.time, this.scrub, this.speed, this.speedText, this.factor, end);
  }

  private button(name: Parameters<typeof icon>[0], title: string, action: () => void): HTMLButtonElement {
    const made = button('', title, action);
    made.dataset.action = name;
    made.append(icon(name));
    return made;
  }

  private setUpSliders(): void {
    this.scrub.step = '0.001';
    this.scrub.id = 'scrub';
    this.scrub.oninput = () => {
      this.scrubbing = true;
      this.send({ type: 'scrub', time: Number(this.scrub.value) });
    };
    this.scrub.onchange = () => (this.scrubbing = false);
    [this.speed.min, this.speed.max, this.speed.step, this.speed.value] = ['-2', '1', '0.05', '0'];
    this.speed.oninput = () => {
      this.tuning = true;
      this.setSpeed(10 ** Number(this.speed.value));
    };
    this.speed.onchange = () => (this.tuning = false);
    this.speed.ondblclick = () => this.setSpeed(1);
  }

  setScene(message: SceneMessage): void {
    this.keyframes.hidden = message.keyframes.length === 0;
    this.keyframes.replaceChildren(...['', ...message.keyframes].map((name) => Object.assign(el('option', '', name || 'start'), { value: name })));
  }

  toggle(): void {
    this.send({ type: this.paused ? 'play' : 'pause' });
  }
  step(): void {
    this.send({ type: 'step' });
  }
  reset(): void {
    this.send({ type: 'reset', keyframe: this.keyframes.value });
  }
  setSpeed(value: number): void {
    this.send({ type: 'speed', value });
  }

  showFilming(filming: boolean): void {
    this.record.classList.toggle('on', filming);
    this.record.title = filming ? 'End the film and save it (V)' : 'Record a film (V)';
  }

  show(status: Status): void {
    if (this.paused !== status.paused) {
      this.paused = status.paused;
      this.play.replaceChildren(icon(status.paused ? 'play' : 'pause'));
      this.play.title = status.paused ? 'Play (space)' : 'Pause (space)';
    }
    this.factor.textContent = status.halted !== null ? 'a behaviour has failed' : status.paused ? 'paused' : `${(status.realTimeFactor ?? 0).toFixed(2)} × real time`;
    this.speedText.textContent = `${Number(status.speed.toPrecision(2))} ×`;
    if (!this.tuning) this.speed.value = String(Math.log10(status.speed));
    if (this.scrubbing) return;
    this.scrub.min = String(status.memory[0]);
    this.scrub.max = String(Math.max(status.memory[1], status.time));
    this.scrub.value = String(status.time);
  }

  showTime(time: number): void {
    this.time.textContent = `${time.toFixed(3)} s`;
  }
}
