// Where the axes of a plot end, and what is written at them. uPlot's own way writes three decimals at most, and
// goes on for ever where the step from tick to tick is lost in rounding.

const NARROWEST = 1e-6; // of the values' own size: a plot shows what a value does, not the last bits of it
const LEAST = 1e-12;
const WIDEST = 1e300;

/** A bit more than the values. A value that hardly changes is a line in the middle. */
export function rangeOf(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const [a, b] = [low, high].map((x) => Math.min(WIDEST, Math.max(-WIDEST, x))) as [number, number];
  const middle = a / 2 + b / 2;
  const half = Math.max(0.55 * (b - a), NARROWEST * Math.abs(middle), LEAST);
  return [middle - half, middle + half];
}

/** Times as they are; one alone gets room. */
export function timesOf(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  return [low, Math.max(high, low + 1e-3)];
}

/** Multiples of 1, 2 or 5 times a power of ten, about `count` of them. */
export function splitsOf(low: number, high: number, count: number): number[] {
  const wanted = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const lead = wanted / power;
  const step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  if (!(step > 0 && Number.isFinite(step))) return [];
  const first = Math.ceil(low / step);
  const most = Math.floor(high / step) - first + 1;
  return Array.from({ length: Math.max(0, Math.min(most, 2 * count)) }, (_, i) => (first + i) * step);
}

/** With as many digits as tell ticks apart that are `step` from each other. */
function labelOf(x: number, step: number, most: number): string {
  if (Math.abs(x) < step / 2) return '0';
  const plain = most >= 1e-3 && most < 1e5;
  if (plain) return x.toFixed(Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))));
  const digits = Math.floor(Math.log10(Math.abs(x))) - Math.floor(Math.log10(step) + 1e-9);
  return x.toExponential(Math.min(12, Math.max(0, digits))).replace('e+', 'e');
}

export function labelsOf(ticks: number[]): string[] {
  const most = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : most;
  return ticks.map((x) => labelOf(x, step, most));
}
