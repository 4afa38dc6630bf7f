/* Detects growth under a constant load. Pure: `(readings) -> slopes`. */

/** Values by name at a time of the load. */
export type Reading = {
  readonly second: number;
  readonly values: ReadonlyMap<string, number>;
  /** Values that change in steps, minutes apart. Their trend needs a longer run. */
  readonly stepped: ReadonlyMap<string, number>;
};

/** Linear trend of a value. */
export type Slope = {
  readonly name: string;
  readonly mean: number;
  /** Growth per hour; negative if falling. */
  readonly perHour: number;
  /** Maximum growth per hour. */
  readonly perHourMax: number;
  /** `unmeasured`: too many values are missing. */
  readonly outcome: 'kept' | 'broken' | 'unmeasured';
};

/** Ignored first part of a load, in which caches and heaps fill. */
const WARM_PART = 1 / 3;

/**
 * Minimum seconds for a trend: two thirds of half an hour, minus the time after the last reading.
 */
const SECONDS_MIN = 1_180;

/**
 * Minimum seconds for the trend of a stepped value: two thirds of 90 minutes. Process memory rises
 * in steps of 1 to 3 MiB even without a leak.
 */
const STEPPED_SECONDS_MIN = 3_580;

/**
 * Number of equal parts of the load. The trend uses a low value of each part, because garbage and
 * unmerged files disappear within a part, but a leak does not.
 */
const PARTS = 8;

/** Share of lowest readings that a part ignores, because a reading during a change may be wrong. */
const LOW_PART = 0.1;

/** Maximum share of missing readings: a few late answers are tolerable. */
const MISSING_PART_MAX = 0.05;

/** Maximum growth per hour, as a share of the mean value. */
const PART_MAX = 0.1;
/** Growth per hour that is always allowed, in the unit of the value. */
const LEAST = 4;

/** Trends of all values; empty if the load is too short. */
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

/** Low value of each part, in the order of time. */
function lowsOf(points: readonly Point[], from: number, last: number): Point[] {
  const partOf = ([second]: Point) => Math.floor(((second - from) / (last - from)) * PARTS);
  const parts = Map.groupBy(points, (point) => Math.min(partOf(point), PARTS - 1));
  return [...parts.values()].flatMap((part) => {
    const low = part.toSorted(([, a], [, b]) => a - b)[Math.floor(part.length * LOW_PART)];
    return low === undefined ? [] : [low];
  });
}

/** Least-squares slope. */
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
