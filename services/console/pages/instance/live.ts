import type { FollowedState, HistoryRow, InstanceEvent } from '#pages/instance/events';
import type { DriftEvent, Report } from '#pages/instances/answers';

/** Observations, and states, that a page keeps; the history has all. Chosen: what a line can show. */
export const KEPT_MAX = 2_000;

/** A processed observation. */
type LiveCycle = {
  readonly ordinal: number;
  readonly observation: HistoryRow;
  readonly drift: DriftEvent | null;
};

/** A state, and the number of the observation that brought it. */
type LivePoint = {
  readonly ordinal: number;
  /** When that was observed; unknown for the state that the page began with. */
  readonly at: string | undefined;
  readonly report: Report;
};

/** What a page knows of an instance at one moment; it never changes. */
export type InstanceView = {
  /** The newest state. */
  readonly now: FollowedState | undefined;
  /** Undefined until the stream names it. */
  readonly generation: number | undefined;
  /** Oldest first, at most `KEPT_MAX` of each. */
  readonly points: readonly LivePoint[];
  readonly cycles: readonly LiveCycle[];
  /** Observations and states since the page was opened, also those that it keeps no longer. */
  readonly cycleCount: number;
  readonly stateCount: number;
  /** Observations that the service keeps no longer, and this page has therefore missed. */
  readonly gap: { readonly from: number; readonly to: number } | undefined;
  readonly isDeleted: boolean;
};

/**
 * What the events of a stream say of an instance, bounded. The service sends a state with the newest
 * observation only, so there may be fewer states than observations.
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
  /** A state that came before the observations that led to it, as it does behind a reconnect. */
  #early: Report | undefined;

  /** Takes the next event of the stream. */
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

  /** All of it as it is now. */
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
    this.#place({ ordinal, at: newest?.observation.timestamp, report });
  }

  #takeCycle({ ordinal, observation, drift }: Extract<InstanceEvent, { kind: 'cycle' }>): void {
    this.#ordinal = ordinal;
    this.#generation = observation.generation;
    this.#cycleCount += 1;
    keep(this.#cycles, { ordinal, observation, drift });
    if (this.#early?.snapshot.cycle !== observation.cycle) return;
    this.#place({ ordinal, at: observation.timestamp, report: this.#early });
  }

  /** Numbers of cycles begin again: an early state belongs to this generation, not to the one before. */
  #begin(generation: number): void {
    this.#generation = generation;
    if (this.#points.at(-1)?.report === this.#early) this.#points.pop();
  }

  /** A state of the same cycle is the same one: the instance was renamed. */
  #place(point: LivePoint): void {
    const last = this.#points.at(-1);
    const isSame =
      last?.ordinal === point.ordinal && last.report.snapshot.cycle === point.report.snapshot.cycle;
    if (isSame) this.#points.pop();
    else this.#stateCount += 1;
    keep(this.#points, point);
  }
}

/** Adds to the end, and drops the oldest now and then. */
function keep<Item>(list: Item[], item: Item): void {
  list.push(item);
  if (list.length >= 2 * KEPT_MAX) list.splice(0, list.length - KEPT_MAX);
}
