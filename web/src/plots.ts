// Signals over time, of the last half minute.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { button, download, el } from './dom';

const COLORS = ['#d9734e', '#3f7cac', '#5b9279', '#8d6a9f', '#c09a2f', '#c05a6b', '#4f9da6', '#333'];
const SECONDS = 30;
const MOST_PLOTS = 6;

class Plot {
  readonly root = el('div', 'plot');
  private readonly chart: uPlot;
  private readonly rows: number[][];

  constructor(readonly title: string, readonly signals: string[], close: (plot: Plot) => void) {
    const bar = el('div', 'bar');
    bar.append(el('strong', '', title), button('CSV', 'Save as CSV', () => this.saveCsv()),
      button('PNG', 'Save as PNG', () => this.savePng()), button('×', 'Close', () => close(this)));
    this.rows = [[], ...signals.map(() => [] as number[])];
    this.root.append(bar);
    const axis: uPlot.Axis = { stroke: '#667', grid: { stroke: '#0001' }, ticks: { stroke: '#0002' }, size: 44 };
    this.chart = new uPlot({
      width: 340, height: 150,
      scales: { x: { time: false } },
      axes: [{ ...axis, size: 28 }, axis],
      legend: { live: false },
      cursor: { drag: { x: false, y: false } },
      series: [{ label: 'time' }, ...signals.map((label, i) => ({
        label, stroke: COLORS[i % COLORS.length]!, width: 1.5, points: { show: false } }))],
    }, this.rows as uPlot.AlignedData, this.root);
  }

  add(time: number, value: (signal: string) => number | undefined): void {
    const times = this.rows[0]!;
    if (times.length && time <= times[times.length - 1]!) {
      if (time === times[times.length - 1]) return;
      const keep = times.findIndex((t) => t >= time);
      for (const row of this.rows) row.length = keep; // gone back: another future
    }
    times.push(time);
    this.signals.forEach((signal, i) => this.rows[i + 1]!.push(value(signal) ?? NaN));
    const old = times.findIndex((t) => t >= time - SECONDS);
    if (old > 200) for (const row of this.rows) row.splice(0, old);
  }

  draw(): void {
    this.chart.setData(this.rows as uPlot.AlignedData);
  }
  clear(): void {
    for (const row of this.rows) row.length = 0;
  }
  get points(): number {
    return this.rows[0]!.length;
  }

  private saveCsv(): void {
    const lines = [['time', ...this.signals].join(',')];
    this.rows[0]!.forEach((_, i) => lines.push(this.rows.map((row) => row[i]).join(',')));
    download(`${this.title}.csv`, new Blob([lines.join('\n') + '\n'], { type: 'text/csv' }));
  }
  private savePng(): void {
    this.chart.ctx.canvas.toBlob((blob) => blob && download(`${this.title}.png`, blob));
  }
}

export class Plots {
  private readonly all: Plot[] = [];
  private drawn = 0;

  constructor(private readonly root: HTMLElement, private readonly changed: () => void) {}

  get signals(): string[] {
    return this.all.flatMap((plot) => plot.signals);
  }
  get points(): number[] {
    return this.all.map((plot) => plot.points);
  }

  open(title: string, signals: string[]): void {
    if (this.all.some((plot) => plot.title === title)) return;
    if (this.all.length >= MOST_PLOTS) this.close(this.all[0]!);
    const plot = new Plot(title, signals, (p) => this.close(p));
    this.all.push(plot);
    this.root.append(plot.root);
    this.changed();
  }

  private close(plot: Plot): void {
    this.all.splice(this.all.indexOf(plot), 1);
    plot.root.remove();
    this.changed();
  }

  add(time: number, value: (signal: string) => number | undefined): void {
    for (const plot of this.all) plot.add(time, value);
    const now = performance.now();
    if (now - this.drawn < 66) return;
    this.drawn = now;
    for (const plot of this.all) plot.draw();
  }

  clear(): void {
    for (const plot of this.all) plot.clear();
  }
  closeAll(): void {
    while (this.all.length) this.close(this.all[0]!);
  }
}
