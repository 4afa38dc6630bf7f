/** Visible part of a chart's x axis. */
export type Range = readonly [from: number, to: number];

/** Smallest visible part, in cycles. */
const SPAN_MIN = 4;

/** Factor of one step of zooming. */
export const ZOOM_STEP = 2;

/** Share of the visible part by which one step moves the part. */
export const PAN_STEP = 0.25;

/**
 * The visible part after zooming by `factor`: more than 1 shows less. The value `at` keeps its
 * place. Returns undefined if the part covers the whole axis.
 */
export function zoomed(
  [from, to]: Range,
  whole: Range,
  factor: number,
  at = (from + to) / 2,
): Range | undefined {
  const span = Math.max((to - from) / factor, SPAN_MIN);
  if (span >= whole[1] - whole[0]) return undefined;
  const share = (at - from) / (to - from);
  return within([at - share * span, at + (1 - share) * span], whole);
}

/** The visible part after a move by `by` cycles, inside the whole axis. */
export function panned([from, to]: Range, whole: Range, by: number): Range {
  return within([from + by, to + by], whole);
}

/** The part, moved by the least amount so that `x` is visible. */
export function including([from, to]: Range, whole: Range, x: number): Range {
  if (x < from) return panned([from, to], whole, x - from);
  return x > to ? panned([from, to], whole, x - to) : [from, to];
}

function within([from, to]: Range, [first, last]: Range): Range {
  const span = to - from;
  if (from < first) return [first, first + span];
  return to > last ? [last - span, last] : [from, to];
}

/**
 * Cycles to load for a visible part, at most `max`: its ends if no known cycle lies beyond them, and
 * cycles that are evenly spaced between the known cycles. `known` is in order. Gaps that are too
 * narrow to see stay as they are.
 */
export function cyclesToLoad(known: readonly number[], range: Range, max: number): number[] {
  const [from, to] = [Math.ceil(range[0]), Math.floor(range[1])];
  const narrow = Math.floor((to - from) / VISIBLE_GAPS);
  const ends = [
    ...(known.some((each) => each <= from) ? [] : [from]),
    ...(known.some((each) => each >= to) || from === to ? [] : [to]),
  ].slice(0, max);
  const inside = known.filter((each) => each >= from && each <= to);
  // The cycles just outside the part count as known, so that the edges are loaded too.
  const edges = [from - 1, ...[...inside, ...ends].toSorted((a, b) => a - b), to + 1];
  const gaps = edges
    .slice(1)
    .map((end, index) => ({ begin: edges[index] ?? from, end, picks: 0 }))
    .filter(({ begin, end }) => end - begin - 1 > narrow);
  for (let count = ends.length; count < max; count += 1) {
    const open = gaps.filter(({ begin, end, picks }) => picks < end - begin - 1);
    const [widest] = open.toSorted((a, b) => stepOf(b) - stepOf(a));
    if (widest === undefined) break;
    widest.picks += 1;
  }
  const between = gaps.flatMap(({ begin, end, picks }) =>
    Array.from({ length: picks }, (_, index) =>
      Math.round(begin + ((index + 1) * (end - begin)) / (picks + 1)),
    ),
  );
  return [...ends, ...between].toSorted((a, b) => a - b);
}

/** Number of gaps that a chart shows apart. A narrower gap looks like a line. */
const VISIBLE_GAPS = 60;

type Gap = { readonly begin: number; readonly end: number; picks: number };

const stepOf = ({ begin, end, picks }: Gap): number => (end - begin) / (picks + 1);
