import type { DriftEvent, Processed as Report } from '#clients/typescript/src/models';
import type { FollowedState, HistoryRow, InstanceEvent } from '#pages/instance/events';

/**
 * Maximum number of observations, and of states, that a page keeps. This limits the charts, but not
 * the history table.
 */
export const KEPT_MAX = 2_000;

/** A processed observation. */
type LiveCycle = {
  readonly ordinal: number;
  readonly observation: HistoryRow;
  readonly drift: DriftEvent | null;
};

/** A state, its generation if known, and the number of its observation. */
type LivePoint = {
  readonly ordinal: number;
  readonly generation: number | undefined;
  /** Time of the observation. Undefined for the state at the start of the page. */
  readonly at: string | undefined;
  readonly report: Report;
};

/** Immutable view of an instance at one moment. */
export type InstanceView = {
  /** The newest state. */
  readonly now: FollowedState | undefined;
  /** Present generation. Undefined until an event contains the generation. */
  readonly generation: number | undefined;
  /** States, oldest first, at most `KEPT_MAX`. */
  readonly points: readonly LivePoint[];
  /** Observations, oldest first, at most `KEPT_MAX`. */
  readonly cycles: readonly LiveCycle[];
  /** Number of observations since the page was opened, including dropped observations. */
  readonly cycleCount: number;
  /** Number of states since the page was opened, including dropped states. */
  readonly stateCount: number;
  /** Observations that the service had already deleted, so the page missed them. */
  readonly gap: { readonly from: number; readonly to: number } | undefined;
  readonly isDeleted: boolean;
};

/**
 * Applies stream events to a bounded model of an instance. The service sends a state with the
 * newest observation only, so there may be fewer states than observations.
 */
export class LiveInstance {
  #now: FollowedState | undefined;
  #ordinal: number | undefined;
  #generation: number | undefined;
  readonly #points: LivePoint[] = [];
  readonly #cycles: LiveCycle[] = [];
  #cycleCount = 0;
  #stateCount = 0;
  #gap: InstanceView['gap'];
  #isDeleted = false;
  #isResuming = false;
  /**
   * State that arrived before its observation. After a reconnect, the service sends the state
   * first.
   */
  #early: Report | undefined;

  /** `generation` is the generation before the first event, if known. */
  constructor(generation?: number) {
    this.#generation = generation;
  }

  /** Applies the next event of the stream. */
  apply(event: InstanceEvent): void {
    switch (event.kind) {
      case 'opened':
        this.#isResuming = this.#ordinal !== undefined;
        break;
      case 'state':
        this.#takeState(event);
        break;
      case 'cycle':
        this.#takeCycle(event);
        break;
      case 'reset':
        this.#begin(event.generation);
        break;
      case 'gap':
        this.#gap = { from: event.from, to: event.to };
        break;
      case 'deleted':
        this.#isDeleted = true;
        break;
    }
  }

  /** The newest state. */
  get now(): FollowedState | undefined {
    return this.#now;
  }

  /** Creates an immutable view of the present state. */
  view(): InstanceView {
    return {
      now: this.#now,
      generation: this.#generation,
      points: this.#points.slice(-KEPT_MAX),
      cycles: this.#cycles.slice(-KEPT_MAX),
      cycleCount: this.#cycleCount,
      stateCount: this.#stateCount,
      gap: this.#gap,
      isDeleted: this.#isDeleted,
    };
  }

  #takeState({ ordinal, report }: Extract<InstanceEvent, { kind: 'state' }>): void {
    this.#now = report;
    this.#early = this.#isResuming ? report : undefined;
    this.#isResuming = false;
    if (this.#early !== undefined) return;
    this.#ordinal = ordinal;
    const newest = this.#cycles.at(-1);
    const generation = this.#generation;
    this.#place({ ordinal, generation, at: newest?.observation.timestamp, report });
  }

  #takeCycle({ ordinal, observation, drift }: Extract<InstanceEvent, { kind: 'cycle' }>): void {
    this.#ordinal = ordinal;
    this.#generation = observation.generation;
    this.#cycleCount += 1;
    keep(this.#cycles, { ordinal, observation, drift });
    if (this.#early?.snapshot.cycle !== observation.cycle) return;
    const { generation, timestamp: at } = observation;
    this.#place({ ordinal, generation, at, report: this.#early });
  }

  /**
   * Starts a new generation, in which cycle numbers restart. An early state belongs to the newest
   * generation. If the state was placed at the same cycle of an older generation, removes that
   * point.
   */
  #begin(generation: number): void {
    this.#generation = generation;
    if (this.#points.at(-1)?.report === this.#early) this.#points.pop();
  }

  /**
   * Adds a state. A second state of the same cycle, for example after a rename, replaces the first.
   */
  #place(point: LivePoint): void {
    const last = this.#points.at(-1);
    const isSame =
      last?.ordinal === point.ordinal && last.report.snapshot.cycle === point.report.snapshot.cycle;
    if (isSame) this.#points.pop();
    else this.#stateCount += 1;
    keep(this.#points, point);
  }
}

/** Appends an item, and drops the oldest items in batches. */
function keep<Item>(list: Item[], item: Item): void {
  list.push(item);
  if (list.length >= 2 * KEPT_MAX) list.splice(0, list.length - KEPT_MAX);
}
