// Signals over time, of the last half minute.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { button, download, el } from './dom';
import type { PlotInfo } from './protocol';
import { labelsOf, rangeOf, splitsOf, timesOf } from './ticks';

const COLORS = ['#d9734e', '#3f7cac', '#5b9279', '#8d6a9f', '#c09a2f', '#c05a6b', '#4f9da6', '#333'];
const SECONDS = 30;
const MOST_PLOTS = 6;
const HEIGHT = 130;
const DRAW_EVERY = 66; // [ms]

/** Without what every name begins with. */
const brief = (signal: string): string => signal.replace(/^(link|joint|sensor)\./, '');

/** [px] that labels of 11 px take, with ticks; wider in steps, so that the axis does not jump. */
const widthOf = (labels: string[] | null): number => Math.max(44, 18 + 14 * Math.ceil(0.5 * Math.max(0, ...(labels ?? []).map((l) => l.length))));

class Plot {
  readonly root = el('div', 'plot');
  readonly signals: string[] = [];
  private readonly heading = el('strong');
  private chart: uPlot | null = null;
  private rows: (number | null)[][] = [[]];

  constructor(private readonly given: string, signals: string[], close: (plot: Plot) => void, private readonly take: (plot: Plot) => void) {
    const bar = el('div', 'bar');
    bar.append(this.heading, button('+', 'The next value that is clicked comes into this plot', () => this.take(this)),
      button('CSV', 'Save as CSV', () => this.saveCsv()), button('PNG', 'Save as PNG', () => this.savePng()),
      button('×', 'Close', () => close(this)));
    this.root.append(bar);
    this.add(signals);
  }

  /** [px] that the chart may take. */
  private get width(): number {
    return Math.max(160, (this.root.clientWidth || 318) - 18);
  }
  /** After the window has changed. */
  fit(): void {
    if (this.chart!.width !== this.width) this.chart!.setSize({ width: this.width, height: HEIGHT });
  }

  get title(): string {
    return this.given || this.signals.map(brief).join(', ');
  }

  add(signals: string[]): void {
    for (const signal of signals.filter((s) => !this.signals.includes(s))) {
      this.signals.push(signal);
      this.rows.push(this.rows[0]!.map(() => null));
    }
    this.heading.textContent = this.heading.title = this.title;
    this.makeChart();
  }

  private makeChart(): void {
    this.chart?.destroy();
    const axis: uPlot.Axis = { stroke: '#56616d', grid: { stroke: '#0001' }, ticks: { stroke: '#0002' }, font: '11px system-ui' };
    this.chart = new uPlot({
      width: this.width, height: HEIGHT,
      scales: { x: { time: false, range: (_, low, high) => timesOf(low, high) }, y: { range: (_, low, high) => rangeOf(low, high) } },
      axes: [
        { ...axis, size: 26, splits: (_, __, low, high) => splitsOf(low, high, 4), values: (_, ticks) => labelsOf(ticks).map((t) => `${t} s`) },
        { ...axis, size: (_, labels) => widthOf(labels), splits: (_, __, low, high) => splitsOf(low, high, 4), values: (_, ticks) => labelsOf(ticks) },
      ],
      legend: { live: false },
      cursor: { drag: { x: false, y: false } },
      series: [{ label: 'time' }, ...this.signals.map((label, i) => ({
        label, stroke: COLORS[i % COLORS.length]!, width: 1.5, points: { show: false } }))],
    }, this.rows as uPlot.AlignedData, this.root);
  }

  record(time: number, value: (signal: string) => number | undefined): void {
    const times = this.rows[0]! as number[];
    const last = times.at(-1) ?? -Infinity;
    if (time === last) return;
    if (time < last) {
      const keep = times.findIndex((t) => t >= time);
      for (const row of this.rows) row.length = keep; // gone back: another future
    }
    times.push(time);
    this.signals.forEach((signal, i) => {
      const x = value(signal);
      this.rows[i + 1]!.push(x !== undefined && Number.isFinite(x) ? x : null);
    });
    const old = times.findIndex((t) => t >= time - SECONDS);
    if (old > 200) for (const row of this.rows) row.splice(0, old);
  }

  draw(): void {
    this.chart!.setData(this.rows as uPlot.AlignedData);
  }
  clear(): void {
    for (const row of this.rows) row.length = 0;
  }
  get points(): number {
    return this.rows[0]!.length;
  }
  get ticks(): string[][] {
    return this.chart!.axes.map((axis) => ((axis as { _values?: unknown[] })._values ?? []).map(String));
  }
  mark(takes: boolean): void {
    this.root.classList.toggle('takes', takes);
  }
  dispose(): void {
    this.chart?.destroy();
    this.root.remove();
  }

  csv(): string {
    const lines = [['time', ...this.signals].join(',')];
    this.rows[0]!.forEach((_, i) => lines.push(this.rows.map((row) => row[i] ?? '').join(',')));
    return lines.join('\n') + '\n';
  }
  private get file(): string {
    return this.title.replace(/[^\w.,-]+/g, '_').slice(0, 60);
  }
  private saveCsv(): void {
    download(`${this.file}.csv`, new Blob([this.csv()], { type: 'text/csv' }));
  }

  /** The chart with its title and legend, on white. */
  private savePng(): void {
    const from = this.chart!.ctx.canvas;
    const scale = from.width / this.chart!.width;
    const line = 18 * scale;
    const canvas = el('canvas');
    canvas.width = from.width;
    canvas.height = from.height + line * (1 + this.signals.length);
    const pen = canvas.getContext('2d')!;
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(from, 0, line);
    pen.font = `600 ${12 * scale}px system-ui`;
    pen.fillStyle = '#22303c';
    pen.fillText(this.title, 8 * scale, 13 * scale);
    this.signals.forEach((signal, i) => {
      pen.fillStyle = COLORS[i % COLORS.length]!;
      pen.fillText(signal, 8 * scale, from.height + line * (i + 1.7));
    });
    canvas.toBlob((blob) => blob && download(`${this.file}.png`, blob));
  }
}

export class Plots {
  private readonly all: Plot[] = [];
  private readonly offered = new Set<string>();
  private taking: Plot | null = null;
  private drawn = 0;

  constructor(private readonly root: HTMLElement, private readonly changed: () => void) {
    addEventListener('resize', () => this.all.forEach((plot) => plot.fit()));
  }

  get signals(): string[] {
    return this.all.flatMap((plot) => plot.signals);
  }
  get points(): number[] {
    return this.all.map((plot) => plot.points);
  }
  /** What is written at the axes of each plot. */
  get ticks(): string[][][] {
    return this.all.map((plot) => plot.ticks);
  }
  get csv(): string[] {
    return this.all.map((plot) => plot.csv());
  }
  /** As scenes keep them. */
  get infos(): PlotInfo[] {
    return this.all.map(({ title, signals }) => ({ title, signals }));
  }

  /** A new plot; with `add`, or where one waits for a value, into that one. */
  plot(signal: string, add: boolean): void {
    const into = this.taking ?? (add ? this.all.at(-1) : undefined);
    if (into) into.add([signal]);
    else if (!this.all.some((plot) => plot.signals.length === 1 && plot.signals[0] === signal)) this.open('', [signal]);
    this.take(null);
    this.changed();
  }

  open(title: string, signals: string[]): void {
    if (this.all.length >= MOST_PLOTS) this.close(this.all[0]!);
    const plot = new Plot(title, signals, (p) => this.close(p), (p) => this.take(p === this.taking ? null : p));
    this.all.push(plot);
    this.root.append(plot.root);
    plot.fit();
    plot.root.scrollIntoView({ block: 'nearest' });
    this.changed();
  }

  /** Opens those that were not offered before, at most so many; one of the same title is replaced. */
  offer(plots: PlotInfo[], most = Infinity): void {
    for (const { title, signals } of plots) {
      const key = JSON.stringify([title, signals]);
      if (this.offered.has(key)) continue;
      this.offered.add(key);
      if (most-- <= 0) continue;
      const old = this.all.find((plot) => plot.title === title);
      if (old) this.close(old);
      this.open(title, signals);
    }
  }

  private take(plot: Plot | null): void {
    this.taking = plot;
    for (const one of this.all) one.mark(one === plot);
  }

  private close(plot: Plot): void {
    if (plot === this.taking) this.take(null);
    this.all.splice(this.all.indexOf(plot), 1);
    plot.dispose();
    this.changed();
  }
  /** A signal that does not exist. */
  closeOf(signal: string): void {
    const plot = this.all.find((p) => p.signals.includes(signal));
    if (plot) this.close(plot);
  }

  record(time: number, value: (signal: string) => number | undefined): void {
    for (const plot of this.all) plot.record(time, value);
    const now = performance.now();
    if (now - this.drawn < DRAW_EVERY) return;
    this.drawn = now;
    for (const plot of this.all) plot.draw();
  }

  clear(): void {
    for (const plot of this.all) plot.clear();
  }
}
