import type { Panel, Unit } from '#deploy/observe/dashboards/dashboard';
import type { TimeRange } from '#deploy/observe/range-query';

/** A curve of a panel, with its name. */
export type NamedCurve = {
  readonly name: string;
  readonly points: readonly (readonly [atS: number, value: number])[];
};

/** Size of a panel in pixels. */
export const PANEL = { width: 600, height: 290 } as const;

const PLOT = { left: 62, top: 34, width: 522, height: 150 } as const;
const LEGEND_TOP = PLOT.top + PLOT.height + 36;
const LEGEND_LINE = 15;

/**
 * Maximum number of curves: more are indistinguishable. Draws the curves with the highest peaks.
 */
const CURVES_MAX = 10;

const COLOURS = [
  ...['#1c5fa8', '#1f6f43', '#b3261e', '#6a3fa0', '#c77700'],
  ...['#00838f', '#7a5200', '#ad1457', '#556b2f', '#455a64'],
] as const;

/** A panel as SVG for a time range, with its upper left corner at 0, 0. */
export function panelPicture(
  panel: Panel,
  curves: readonly NamedCurve[],
  range: TimeRange,
): string[] {
  const drawn = curves.toSorted((a, b) => peakOf(b) - peakOf(a)).slice(0, CURVES_MAX);
  const limit = panel.limit ?? 0;
  const peak = Math.max(...drawn.map(peakOf), 0);
  // Ignore a limit far above the curves, which would flatten them.
  const top = niceTop(limit > 0 && limit < 4 * peak ? Math.max(peak, limit) : peak);
  const x = (atS: number) =>
    PLOT.left + (PLOT.width * (atS - range.fromS)) / (range.toS - range.fromS);
  const y = (value: number) => PLOT.top + PLOT.height * (1 - Math.min(1, value / top));
  const empty = panel.mayBeEmpty ?? 'no series';
  return [
    `<rect x="4" y="4" width="${PANEL.width - 8}" height="${PANEL.height - 8}" rx="4" fill="#fff" stroke="#ddd"/>`,
    `<text x="14" y="24" font-weight="bold" fill="#222">${escaped(panel.title)}</text>`,
    ...valueAxis(panel.unit, top, y),
    ...timeAxis(range, x),
    ...(limit > 0 && limit <= top ? [limitLine(y(limit))] : []),
    ...drawn.flatMap((curve, place) => curveOf(curve, place, x, y, range.stepS)),
    ...legend(drawn, curves.length),
    ...(drawn.length === 0
      ? [`<text x="${PLOT.left + 12}" y="${PLOT.top + 80}" fill="#888">${escaped(empty)}</text>`]
      : []),
  ];
}

function peakOf({ points }: NamedCurve): number {
  return points.reduce((most, [, value]) => Math.max(most, value), 0);
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function niceTop(peak: number): number {
  if (peak <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(peak));
  return ([1, 2, 5].find((step) => step * power >= peak) ?? 10) * power;
}

function valueAxis(unit: Unit, top: number, y: (value: number) => number): string[] {
  return [0, 0.5, 1].flatMap((share) => {
    const at = round(y(share * top));
    return [
      `<line x1="${PLOT.left}" x2="${PLOT.left + PLOT.width}" y1="${at}" y2="${at}" stroke="#eee"/>`,
      `<text x="${PLOT.left - 6}" y="${at + 4}" text-anchor="end" fill="#666">${valueText(unit, share * top)}</text>`,
    ];
  });
}

function valueText(unit: Unit, value: number): string {
  const short = (number: number) => `${Number(number.toPrecision(3))}`;
  switch (unit) {
    case 'seconds':
      if (value === 0 || value >= 1) return `${short(value)} s`;
      return value >= 0.001 ? `${short(value * 1e3)} ms` : `${short(value * 1e6)} µs`;
    case 'perSecond':
      return `${short(value)}/s`;
    case 'share':
      return `${short(value * 100)} %`;
    case 'count':
      return short(value);
    case 'bytes':
      return `${short(value / 1_048_576)} MiB`;
  }
}

function timeAxis({ fromS, toS }: TimeRange, x: (atS: number) => number): string[] {
  const minutes = (toS - fromS) / 60;
  const everyS = (minutes > 90 ? 20 : minutes > 20 ? 10 : 5) * 60;
  const bottom = PLOT.top + PLOT.height + 15;
  const marks: string[] = [];
  for (let atS = Math.ceil(fromS / everyS) * everyS; atS <= toS; atS += everyS) {
    const text = new Date(atS * 1_000).toISOString().slice(11, 16);
    marks.push(
      `<text x="${round(x(atS))}" y="${bottom}" text-anchor="middle" fill="#666">${text}</text>`,
    );
  }
  return marks;
}

function limitLine(at: number): string {
  return `<line x1="${PLOT.left}" x2="${PLOT.left + PLOT.width}" y1="${round(at)}" y2="${round(at)}" stroke="#b3261e" stroke-dasharray="5 4"/>`;
}

/**
 * Lines of a curve. Missing values leave a gap: a line ends if the next value is more than 1.5
 * steps away.
 */
function curveOf(
  { points }: NamedCurve,
  place: number,
  x: (atS: number) => number,
  y: (value: number) => number,
  stepS: number,
): string[] {
  const lines: string[][] = [];
  let lastS = Number.NEGATIVE_INFINITY;
  for (const [atS, value] of points) {
    if (atS - lastS > 1.5 * stepS) lines.push([]);
    lines.at(-1)?.push(`${round(x(atS))},${round(y(value))}`);
    lastS = atS;
  }
  const colour = COLOURS[place] ?? '#000';
  return lines.map(
    (line) => `<polyline fill="none" stroke="${colour}" points="${line.join(' ')}"/>`,
  );
}

function legend(drawn: readonly NamedCurve[], count: number): string[] {
  const names = drawn.map(({ name }) => name);
  const left = count - drawn.length;
  const half = Math.ceil((names.length + (left > 0 ? 1 : 0)) / 2);
  const entry = (name: string, place: number, colour: string | undefined) => {
    const column = PLOT.left + (place < half ? 0 : PLOT.width / 2);
    const row = LEGEND_TOP + (place % Math.max(1, half)) * LEGEND_LINE;
    const mark =
      colour === undefined
        ? ''
        : `<rect x="${column}" y="${row - 8}" width="10" height="3" fill="${colour}"/>`;
    return `${mark}<text x="${column + 15}" y="${row - 3}" fill="#444" font-size="11">${escaped(name)}</text>`;
  };
  return [
    ...names.map((name, place) => entry(name, place, COLOURS[place])),
    ...(left > 0 ? [entry(`and ${left} smaller curves`, names.length, undefined)] : []),
  ];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
