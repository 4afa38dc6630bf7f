import type { Processed as Report } from '#clients/typescript/src/models';
import { MODES } from '#pages/instance/modes';

/** A line of a chart: its style, and a function that reads its value from a report. */
type Line = {
  readonly name: string;
  /** Class with the color in the stylesheet. */
  readonly style: string;
  /** Lengths of dashes and gaps, in pixels. */
  readonly dash: readonly number[];
  readonly levelOf: (report: Report) => number;
};

/** Lines for the seven modes, energy and stability. All values are from 0 to 1. */
export const LINES: readonly Line[] = [
  ...MODES.map(([key, name]) => ({
    ...{ name, style: `is-${key}`, dash: [] },
    levelOf: ({ snapshot }: Report) => snapshot.mode_strengths[key],
  })),
  {
    ...{ name: 'Energy', style: 'is-energy', dash: [8, 4] },
    levelOf: ({ snapshot }) => snapshot.energy_level,
  },
  {
    ...{ name: 'Stability', style: 'is-stability', dash: [2, 3] },
    levelOf: ({ snapshot }) => snapshot.stability_index,
  },
];

/** A state on a chart. `x` is the number of an observation or step. */
export type ChartPoint = {
  readonly x: number;
  readonly at: string | undefined;
  readonly report: Report;
};

/** Class of the mode that an observation names. */
export function styleOfMode(modeTarget: string): string {
  return `is-${modeTarget.toLowerCase()}`;
}

/** Range of the x axis. A single point gets a range around it. */
export function xRangeOf(points: readonly ChartPoint[]): readonly [number, number] {
  const [from, to] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0];
  return from === to ? [from - 1, to + 1] : [from, to];
}

/** Columns for the chart library: x, then each line. */
export function columnsOf(points: readonly ChartPoint[]): [number[], ...number[][]] {
  return [
    points.map(({ x }) => x),
    ...LINES.map(({ levelOf }) => points.map(({ report }) => levelOf(report))),
  ];
}

/** Part of the x axis with a constant stress level. */
type StressStretch = { readonly from: number; readonly to: number; readonly state: string };

/** Returns the stress band of a chart. Each state lasts until the next observation. */
export function stressBandOf(points: readonly ChartPoint[]): readonly StressStretch[] {
  const stretches: StressStretch[] = [];
  for (const [index, { x, report }] of points.entries()) {
    const state = report.snapshot.stress_state;
    const to = points[index + 1]?.x ?? xRangeOf(points)[1];
    const last = stretches.at(-1);
    if (last?.state === state) stretches[stretches.length - 1] = { ...last, to };
    else stretches.push({ from: x, to, state });
  }
  return stretches;
}
