import { ARMS, type Arm, BLOCKS } from '#bench/fidelity/dialogue';
import type { Estimate } from '#bench/fidelity/statistics';

/** Curves for a measure and a model. Each arm has an estimate for each block of turns. */
export type Curves = {
  readonly model: string;
  readonly measure: string;
  readonly arms: Readonly<Record<Arm, readonly Estimate[]>>;
};

const COLOURS: Readonly<Record<Arm, string>> = {
  without: '#b3402e',
  engine: '#2f7d4f',
  shuffled: '#2f5d7d',
};

const PLOT = { width: 270, height: 130, top: 70, left: 45, right: 15, bottom: 35 } as const;
const CELL = {
  width: PLOT.left + PLOT.width + PLOT.right,
  height: PLOT.height + PLOT.bottom + 35,
} as const;

/**
 * SVG picture of curves over the blocks of a dialogue, with 95 % intervals. A row per measure, a
 * column per model. All values are from 0 to 100.
 */
export function roundsPicture(heading: string, rows: readonly (readonly Curves[])[]): string {
  const columns = Math.max(2, ...rows.map(({ length }) => length));
  const [width, height] = [columns * CELL.width, rows.length * CELL.height + 65];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(PLOT.left, 20, heading, 'start'),
    ...rows.flatMap((row, number) =>
      row.flatMap((curves, column) =>
        plot(curves, column * CELL.width, number * CELL.height, topOf(row)),
      ),
    ),
    ...ARMS.flatMap((arm, index) => {
      const x = PLOT.left + index * 110;
      return [
        `<rect x="${x}" y="${height - 20}" width="10" height="10" fill="${COLOURS[arm]}"/>`,
        text(x + 15, height - 11, arm, 'start'),
      ];
    }),
    '</svg>',
  ].join('\n')}\n`;
}

/** End of the vertical axis of a row. */
function topOf(row: readonly Curves[]): number {
  const bounds = row.flatMap(({ arms }) =>
    ARMS.flatMap((arm) => arms[arm].map(({ high }) => high)),
  );
  return [10, 20, 50].find((top) => bounds.every((bound) => !(bound > top))) ?? 100;
}

function plot({ model, measure, arms }: Curves, left: number, above: number, top: number) {
  const [x0, y0] = [left + PLOT.left, above + PLOT.top];
  const x = (block: number) => x0 + ((block + 0.5) * PLOT.width) / BLOCKS;
  const y = (value: number) => y0 + PLOT.height * (1 - value / top);
  return [
    text(x0, y0 - 22, model, 'start'),
    text(x0, y0 - 8, measure, 'start'),
    `<rect x="${x0}" y="${y0}" width="${PLOT.width}" height="${PLOT.height}" fill="#f4f2ee"/>`,
    ...[0, top / 2, top].map((tick) => text(x0 - 5, y(tick) + 4, `${tick}`, 'end')),
    ...Array.from({ length: BLOCKS }, (_, block) =>
      text(x(block), y0 + PLOT.height + 14, `${block + 1}`, 'middle'),
    ),
    ...ARMS.flatMap((arm, index) => {
      // Shifted, so that equal curves stay visible.
      const at = (block: number) => (x(block) + (index - 1) * 4).toFixed(1);
      const known = [...arms[arm].entries()].filter(([, { value }]) => Number.isFinite(value));
      const points = known.map(([block, { value }]) => `${at(block)},${y(value).toFixed(1)}`);
      return [
        ...known.map(
          ([block, { low, high }]) =>
            `<path d="M${at(block)} ${y(low).toFixed(1)}V${y(high).toFixed(1)}" stroke="${COLOURS[arm]}"/>`,
        ),
        `<polyline points="${points.join(' ')}" fill="none" stroke="${COLOURS[arm]}" stroke-width="1.5"/>`,
      ];
    }),
  ];
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${safe}</text>`;
}
