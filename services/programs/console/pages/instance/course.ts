import type { DriftEvent, PastState } from '#clients/typescript/src/models';
import type { HistoryRow } from '#pages/instance/events';
import type { ChartPoint } from '#pages/instance/lines';
import type { InstanceView } from '#pages/instance/live';
import { cyclesToLoad, type Range } from '#pages/instance/zoom';

/** Maximum number of kept states. Older states are thinned out. */
const KEPT_MAX = 4_000;

/** Maximum number of kept observations: some pages of the history, and hours of a live page. */
const OBSERVATIONS_MAX = 20_000;

/** Maximum number of cycles in a request for exact states. Source: interface 4.2. */
export const CYCLES_MAX = 10;

/** Known course of one generation: states, observations and drift events by cycle. */
export class Course {
  readonly generation: number;
  readonly #points = new Map<number, ChartPoint>();
  readonly #observations = new Map<number, HistoryRow>();
  readonly #drifts = new Map<number, DriftEvent>();
  #sorted: readonly ChartPoint[] | undefined = [];
  #rows: readonly HistoryRow[] | undefined;
  #events: readonly DriftEvent[] | undefined;
  #first = 0;
  #firstObserved = Number.POSITIVE_INFINITY;
  #lastObserved = 0;

  constructor(generation: number) {
    this.generation = generation;
  }

  /** Known states in the order of their cycles. */
  get points(): readonly ChartPoint[] {
    this.#sorted ??= [...this.#points.values()].toSorted((a, b) => a.x - b.x);
    return this.#sorted;
  }

  /** First cycle whose state is still stored. Infinite if the generation has none. */
  get first(): number {
    return this.#first;
  }

  /** Known observations, in the order of their arrival. */
  get observations(): readonly HistoryRow[] {
    this.#rows ??= [...this.#observations.values()];
    return this.#rows;
  }

  /** Known drift events in the order of their cycles. */
  get drifts(): readonly DriftEvent[] {
    this.#events ??= [...this.#drifts.values()].toSorted((a, b) => a.cycle - b.cycle);
    return this.#events;
  }

  /**
   * First and last known cycle. The observations count too: the states of an earlier generation can
   * end before its end, and a reconnect can miss the first state of a new generation.
   */
  get extent(): Range {
    const [first, last] = [this.points[0]?.x, this.points.at(-1)?.x];
    const from = Math.min(first ?? Number.POSITIVE_INFINITY, this.#firstObserved - 1);
    return [Number.isFinite(from) ? from : 0, Math.max(last ?? 0, this.#lastObserved)];
  }

  pointAt(cycle: number): ChartPoint | undefined {
    return this.#points.get(cycle);
  }

  observationAt(cycle: number): HistoryRow | undefined {
    return this.#observations.get(cycle);
  }

  driftAt(cycle: number): DriftEvent | undefined {
    return this.#drifts.get(cycle);
  }

  addStates(states: readonly PastState[]): void {
    for (const report of states) {
      this.addPoint({ x: report.cycle, at: report.timestamp ?? undefined, report });
    }
  }

  addPoint(point: ChartPoint): void {
    const before = this.#points.get(point.x);
    this.#points.set(point.x, { ...point, at: point.at ?? before?.at });
    this.#sorted = undefined;
    if (this.#points.size > KEPT_MAX) this.#thin();
  }

  addObservations(rows: readonly HistoryRow[]): void {
    this.#rows = undefined;
    for (const row of rows) {
      this.#observations.set(row.cycle, row);
      this.#firstObserved = Math.min(this.#firstObserved, row.cycle);
      this.#lastObserved = Math.max(this.#lastObserved, row.cycle);
    }
    // Drops the oldest cycles in batches.
    if (this.#observations.size < 1.2 * OBSERVATIONS_MAX) return;
    const cycles = [...this.#observations.keys()].toSorted((a, b) => a - b);
    for (const cycle of cycles.slice(0, -OBSERVATIONS_MAX)) this.#observations.delete(cycle);
  }

  addDrifts(rows: readonly DriftEvent[]): void {
    this.#events = undefined;
    for (const row of rows) this.#drifts.set(row.cycle, row);
  }

  /** Notes that cycles before `first` are not stored. */
  beginAt(first: number): void {
    this.#first = Math.max(this.#first, first);
  }

  /** Cycles to load, so that the visible part shows the course evenly. */
  missing([from, to]: Range): number[] {
    const known = this.points.map(({ x }) => x);
    const visible: Range = [Math.max(from, this.#first), Math.min(to, this.extent[1])];
    return visible[0] > visible[1] ? [] : cyclesToLoad(known, visible, CYCLES_MAX);
  }

  /** Drops every second state of the older half. */
  #thin(): void {
    const older = this.points.slice(0, KEPT_MAX / 2);
    for (const [index, { x }] of older.entries()) if (index % 2 === 1) this.#points.delete(x);
    this.#sorted = undefined;
  }
}

/** Known courses of an instance by generation. */
export class Courses {
  readonly #courses = new Map<number, Course>();
  /** Ordinal of the newest observation and number of states taken from the stream. */
  #taken = { ordinal: 0, states: 0 };

  of(generation: number): Course {
    const course = this.#courses.get(generation) ?? new Course(generation);
    this.#courses.set(generation, course);
    return course;
  }

  /** Adds rows with their generations. */
  addRows(observations: readonly HistoryRow[], drifts: readonly DriftEvent[]): void {
    for (const [generation, rows] of byGeneration(observations)) {
      this.of(generation).addObservations(rows);
    }
    for (const [generation, rows] of byGeneration(drifts)) this.of(generation).addDrifts(rows);
  }

  /** Adds the states and observations that the stream has delivered since the last call. */
  take({ points, cycles, stateCount }: InstanceView): void {
    const { ordinal: seen, states } = this.#taken;
    const fresh = cycles.slice(cycles.findLastIndex(({ ordinal }) => ordinal <= seen) + 1);
    this.addRows(
      fresh.map(({ observation }) => observation),
      fresh.flatMap(({ observation: { generation }, drift }) =>
        drift === null || generation === undefined ? [] : [{ ...drift, generation }],
      ),
    );
    // A new state of the same cycle replaces the last state, and is not counted.
    const count = Math.min(points.length, stateCount - states + 1);
    for (const { generation, at, report } of points.slice(points.length - count)) {
      if (generation !== undefined) {
        this.of(generation).addPoint({ x: report.snapshot.cycle, at, report });
      }
    }
    this.#taken = { ordinal: cycles.at(-1)?.ordinal ?? seen, states: stateCount };
  }
}

function byGeneration<Row extends { readonly generation?: number }>(rows: readonly Row[]) {
  return Map.groupBy(rows, ({ generation }) => generation ?? 1);
}
