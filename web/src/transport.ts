// Play, pause, step, speed, reset, and back through the last seconds.
import type { Command, Status } from './protocol';
import { button, el } from './dom';

export class Transport {
  private readonly play: HTMLButtonElement;
  private readonly time = el('output', 'time');
  private readonly factor = el('output', 'factor');
  private readonly scrub = el('input', 'scrub');
  private readonly speed = el('input', 'speed');
  private readonly speedText = el('output', 'speed-text');
  private scrubbing = false;
  private tuning = false;
  paused = false;

  constructor(root: HTMLElement, private readonly send: (command: Command) => void, help: () => void) {
    this.play = button('❚❚', 'Pause (space)', () => this.toggle());
    this.play.id = 'play';
    const step = button('▸|', 'One step (.)', () => this.step());
    step.id = 'step';
    const reset = button('↺', 'Back to the start (R)', () => this.reset());
    reset.id = 'reset';
    this.scrub.type = this.speed.type = 'range';
    this.scrub.step = '0.001';
    this.scrub.title = 'Back through the last 30 s';
    this.scrub.id = 'scrub';
    this.scrub.oninput = () => {
      this.scrubbing = true;
      send({ type: 'scrub', time: Number(this.scrub.value) });
    };
    this.scrub.onchange = () => (this.scrubbing = false);
    this.speed.min = '-2';
    this.speed.max = '1';
    this.speed.step = '0.05';
    this.speed.value = '0';
    this.speed.title = 'Speed';
    this.speed.oninput = () => {
      this.tuning = true;
      this.setSpeed(10 ** Number(this.speed.value));
    };
    this.speed.onchange = () => (this.tuning = false);
    this.speed.ondblclick = () => this.setSpeed(1);
    root.append(reset, this.play, step, this.time, this.scrub, this.speed, this.speedText, this.factor, button('?', 'Help (?)', help));
  }

  toggle(): void {
    this.send({ type: this.paused ? 'play' : 'pause' });
  }
  step(): void {
    this.send({ type: 'step' });
  }
  reset(): void {
    this.send({ type: 'reset' });
  }
  setSpeed(value: number): void {
    this.send({ type: 'speed', value });
  }

  show(status: Status): void {
    this.paused = status.paused;
    this.play.textContent = status.paused ? '▶' : '❚❚';
    this.play.title = status.paused ? 'Play (space)' : 'Pause (space)';
    this.factor.textContent = status.paused ? 'paused' : `${status.realTimeFactor.toFixed(2)} × real time`;
    this.speedText.textContent = `${Number(status.speed.toPrecision(2))}×`;
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
