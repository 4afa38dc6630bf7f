/*
 * Does anything grow under a load that stays the same? Pure: `(readings) -> slopes`.
 */

/** What was read at a second of the load: a value by name. */
export type Reading = {
  readonly second: number;
  readonly values: ReadonlyMap<string, number>;
  /** What comes in steps, minutes apart: only a longer time shows whether it grows. */
  readonly stepped: ReadonlyMap<string, number>;
};

/** The line through what one value comes down to. */
export type Slope = {
  readonly name: string;
  readonly mean: number;
  /** How much it grows in an hour; negative: it falls. */
  readonly perHour: number;
  /** How much it may. */
  readonly perHourMax: number;
  /** `unmeasured`: it was not there all the time, so the line is not about one thing. */
  readonly outcome: 'kept' | 'broken' | 'unmeasured';
};

/** The first part of a load is left out: caches and heaps fill. */
const WARM_PART = 1 / 3;

/**
 * Below this many seconds a line says nothing about an hour: what is left of half an hour, whose last
 * reading comes some seconds before its end. Chosen.
 */
const SECONDS_MIN = 1_180;

/**
 * The same of what comes in steps: what is left of an hour and a half. The memory of a process rises by 1 to
 * 3 MiB at a time where nothing that lives grows. Chosen.
 */
const STEPPED_SECONDS_MIN = 3_580;

/**
 * The line goes through what the value comes down to in each of as many parts of the time: what is
 * collected, or merged, every few minutes comes down again within a part, and what leaks does not. Chosen.
 */
const PARTS = 8;

/** Readings of a part below that: single ones are taken while something changes. Chosen. */
const LOW_PART = 0.1;

/** Readings that may be missing: one answer that came late says nothing about an hour. Chosen. */
const MISSING_PART_MAX = 0.05;

/** What may be growth by chance: a part of the mean an hour, and at least so much. Chosen. */
const PART_MAX = 0.1;
const LEAST = 4;

/** The slope of every value that was ever there; none where the load was too short for it. */
export function slopesOf(readings: readonly Reading[]): Slope[] {
  return [
    ...slopesOver(SECONDS_MIN, readings, ({ values }) => values),
    ...slopesOver(STEPPED_SECONDS_MIN, readings, ({ stepped }) => stepped),
  ];
}

function slopesOver(
  secondsMin: number,
  readings: readonly Reading[],
  valuesOf: (reading: Reading) => ReadonlyMap<string, number>,
): Slope[] {
  const [first, last] = [readings[0]?.second ?? 0, readings.at(-1)?.second ?? 0];
  const from = first + (last - first) * WARM_PART;
  const judged = readings.filter(({ second }) => second >= from);
  if (last - from < secondsMin) return [];
  const names = new Set(readings.flatMap((reading) => [...valuesOf(reading).keys()]));
  return [...names].map((name) => {
    const points = judged.flatMap((reading) => {
      const value = valuesOf(reading).get(name);
      return value === undefined ? [] : [[reading.second, value] as const];
    });
    const slope = slopeOf(name, lowsOf(points, from, last));
    const missing = readings.filter((reading) => !valuesOf(reading).has(name)).length;
    return missing <= readings.length * MISSING_PART_MAX
      ? slope
      : { ...slope, outcome: 'unmeasured' };
  });
}

type Point = readonly [second: number, value: number];

/** What the readings of each part of the time come down to. */
function lowsOf(points: readonly Point[], from: number, last: number): Point[] {
  const partOf = ([second]: Point) => Math.floor(((second - from) / (last - from)) * PARTS);
  const parts = Map.groupBy(points, (point) => Math.min(partOf(point), PARTS - 1));
  return [...parts.values()].flatMap((part) => {
    const low = part.toSorted(([, a], [, b]) => a - b)[Math.floor(part.length * LOW_PART)];
    return low === undefined ? [] : [low];
  });
}

/** By least squares. */
function slopeOf(name: string, points: readonly Point[]): Slope {
  const meanOf = (pick: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const middle = meanOf(([second]) => second);
  const mean = meanOf(([, value]) => value);
  const spread = meanOf(([second]) => (second - middle) ** 2);
  const together = meanOf(([second, value]) => (second - middle) * (value - mean));
  const perHour = (together / spread) * 3_600;
  const perHourMax = Math.max(LEAST, mean * PART_MAX);
  return { name, mean, perHour, perHourMax, outcome: perHour <= perHourMax ? 'kept' : 'broken' };
}
