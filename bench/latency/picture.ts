/** File of the picture, beside the page. */
export const PICTURE = 'bench/latency.svg';

/** Latencies at a share of a server's capacity, in ms. */
export type LatencyRow = {
  readonly title: string;
  readonly share: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
};

const BARS = [
  { name: 'p50', colour: '#2f7d4f', read: ({ p50Ms }: LatencyRow) => p50Ms },
  { name: 'p99', colour: '#2f5d7d', read: ({ p99Ms }: LatencyRow) => p99Ms },
  { name: 'p99.9', colour: '#b3402e', read: ({ p999Ms }: LatencyRow) => p999Ms },
] as const;

const LEFT = 300;
const WIDTH = 420;
const BAR = 12;
const ROW = BARS.length * BAR + 14;
const TOP = 40;

/** Ends of the logarithmic axis, in ms. */
const AXIS = { least: 0.1, most: 1_000 } as const;

/** Values with a line and a label on the axis, in ms. */
const TICKS = [0.1, 1, 10, 100, 1_000];

/** SVG picture with three bars for each row, on a logarithmic axis. */
export function latencyPicture(rows: readonly LatencyRow[]): string {
  const height = TOP + rows.length * ROW + 30;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 70} ${height}" font-family="sans-serif" font-size="11">`,
    '<title>Latencies of each server at two rates</title>',
    `<rect width="${LEFT + WIDTH + 70}" height="${height}" fill="#fff"/>`,
    ...BARS.flatMap(({ name, colour }, index) => legend(name, colour, LEFT + index * 70)),
    ...TICKS.flatMap((ms) => tick(ms, height - 25)),
    ...rows.flatMap((row, index) => barsOf(row, TOP + index * ROW)),
    '</svg>',
  ].join('\n')}\n`;
}

function legend(name: string, colour: string, x: number): string[] {
  return [
    `<rect x="${x}" y="8" width="10" height="10" fill="${colour}"/>`,
    text(x + 15, 17, name, 'start'),
  ];
}

function tick(ms: number, bottom: number): string[] {
  const x = LEFT + lengthOf(ms);
  return [
    `<line x1="${x}" x2="${x}" y1="${TOP - 10}" y2="${bottom}" stroke="#ccc"/>`,
    text(x, bottom + 14, `${ms} ms`, 'middle'),
  ];
}

function barsOf(row: LatencyRow, top: number): string[] {
  const name = `${row.title}, ${row.share * 100} %`;
  return [
    text(LEFT - 8, top + BARS.length * (BAR / 2) + 4, name, 'end'),
    ...BARS.flatMap(({ colour, read }, index) => {
      const ms = read(row);
      if (!Number.isFinite(ms)) return [];
      const [y, length] = [top + index * BAR, lengthOf(ms)];
      return [
        `<rect x="${LEFT}" y="${y}" width="${length}" height="${BAR - 2}" fill="${colour}"/>`,
        text(LEFT + length + 4, y + BAR - 3, `${Number(ms.toPrecision(2))}`, 'start'),
      ];
    }),
  ];
}

/** Length of a bar on the logarithmic axis. */
function lengthOf(ms: number): number {
  const within = Math.min(AXIS.most, Math.max(AXIS.least, ms));
  const share = Math.log10(within / AXIS.least) / Math.log10(AXIS.most / AXIS.least);
  return Math.round(share * WIDTH);
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#222">${content}</text>`;
}
