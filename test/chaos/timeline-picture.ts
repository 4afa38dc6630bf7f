import { type Disturbance, quantile, type Second } from '#test/chaos/timeline';

const WIDTH = 1_200;
const LEFT = 70;
const RIGHT = 20;
const PLOT = WIDTH - LEFT - RIGHT;

/** Top and height of each chart, in pixels. */
const ROWS = { throughput: [40, 150], errors: [220, 80], latency: [330, 130] } as const;
const LABELS_TOP = 490;
const LABEL_HEIGHT = 16;

/** Decades of the logarithmic latency scale, from 1 ms to 100 s. */
const DECADES = 5;

type Row = readonly [number, number];

/** Draws an SVG timeline of throughput, failed calls and latency, with the disturbances. */
export function timelinePicture(
  seconds: readonly Second[],
  disturbances: readonly Disturbance[],
  fromMs: number,
): string {
  const count = Math.max(1, seconds.length);
  const x = (second: number) => LEFT + (PLOT * second) / count;
  const xOfMs = (ms: number) => x(Math.min(count, Math.max(0, (ms - fromMs) / 1_000)));
  const height = LABELS_TOP + 20 + LABEL_HEIGHT * Math.max(1, disturbances.length);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...disturbances.flatMap((disturbance, place) => band(disturbance, place, xOfMs)),
    ...throughputRow(seconds, x),
    ...errorRow(seconds, x),
    ...latencyRow(seconds, x),
    ...timeAxis(count, x),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function band(
  { text, fromMs, toMs, servedAfterMs }: Disturbance,
  place: number,
  x: (ms: number) => number,
): string[] {
  const left = x(fromMs);
  const width = Math.max(1.5, x(toMs) - left);
  const bottom = LABELS_TOP + LABEL_HEIGHT * place;
  const after = servedAfterMs === undefined ? '' : `, served again after ${served(servedAfterMs)}`;
  const isRight = left > WIDTH * 0.6;
  const anchor = isRight ? `x="${round(left - 6)}" text-anchor="end"` : `x="${round(left + 6)}"`;
  return [
    `<rect x="${round(left)}" y="30" width="${round(width)}" height="${bottom - 30}" fill="#d9a441" fill-opacity="0.25"/>`,
    `<text ${anchor} y="${bottom + 4}" fill="#7a5200" font-size="11">${escaped(`${place + 1} ${text}${after}`)}</text>`,
  ];
}

function throughputRow(seconds: readonly Second[], x: (second: number) => number): string[] {
  const most = Math.max(1, ...seconds.map(({ answered, due }) => Math.max(answered, due)));
  const points = (read: (second: Second) => number) =>
    line(
      seconds.map((second, place) => [x(place + 0.5), yIn(ROWS.throughput, read(second) / most)]),
    );
  return [
    title(ROWS.throughput, `calls per second (green: answered, grey: due), at most ${most}`),
    `<polyline fill="none" stroke="#aaa" points="${points(({ due }) => due)}"/>`,
    `<polyline fill="none" stroke="#1f6f43" stroke-width="1.5" points="${points(({ answered }) => answered)}"/>`,
  ];
}

function errorRow(seconds: readonly Second[], x: (second: number) => number): string[] {
  const most = Math.max(1, ...seconds.map(({ errors }) => errors));
  const bars = seconds.flatMap(({ errors }, place) => {
    if (errors === 0) return [];
    const top = yIn(ROWS.errors, errors / most);
    const height = yIn(ROWS.errors, 0) - top;
    const width = Math.max(1, x(1) - x(0));
    return `<rect x="${round(x(place))}" y="${round(top)}" width="${round(width)}" height="${round(height)}" fill="#b3261e"/>`;
  });
  return [title(ROWS.errors, `failed calls per second, at most ${most}`), ...bars];
}

function latencyRow(seconds: readonly Second[], x: (second: number) => number): string[] {
  const curve = (share: number) =>
    line(
      seconds.flatMap(({ latenciesMs }, place): [number, number][] => {
        if (latenciesMs.length === 0) return [];
        const decades = Math.log10(Math.max(1, quantile(latenciesMs, share)));
        return [[x(place + 0.5), yIn(ROWS.latency, Math.min(1, decades / DECADES))]];
      }),
    );
  const marks = [1, 10, 100, 1_000, 10_000].map((ms, place) => {
    const y = round(yIn(ROWS.latency, place / DECADES));
    return `<text x="${LEFT - 6}" y="${y + 4}" text-anchor="end" fill="#666">${ms} ms</text><line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" stroke="#eee"/>`;
  });
  return [
    ...marks,
    title(ROWS.latency, 'latency from the due time (blue: p50, violet: p99)'),
    `<polyline fill="none" stroke="#6a3fa0" points="${curve(0.99)}"/>`,
    `<polyline fill="none" stroke="#1c5fa8" stroke-width="1.5" points="${curve(0.5)}"/>`,
  ];
}

function timeAxis(count: number, x: (second: number) => number): string[] {
  const step = count > 600 ? 60 : count > 120 ? 20 : 5;
  const marks = Array.from({ length: Math.floor(count / step) + 1 }, (_, place) => place * step);
  const y = LABELS_TOP - 14;
  return marks.map(
    (second) =>
      `<text x="${round(x(second))}" y="${y}" text-anchor="middle" fill="#666">${second} s</text>`,
  );
}

function title([top]: Row, text: string): string {
  return `<text x="${LEFT}" y="${top - 6}" fill="#222">${text}</text>`;
}

function yIn([top, height]: Row, share: number): number {
  return top + height * (1 - share);
}

function line(points: readonly (readonly [number, number])[]): string {
  return points.map(([left, top]) => `${round(left)},${round(top)}`).join(' ');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function served(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
