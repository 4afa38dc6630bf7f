import type { Call } from '#test/simulation/checks/history';
import { isAcknowledged, Violation } from '#test/simulation/stored/version-index';

type Trim = Pick<Call, 'id' | 'invokedMs' | 'endedMs'> & {
  readonly marks: ReadonlySet<string>;
  readonly isCertain: boolean;
};

/** Observations of an instance that a trim has deleted or may have deleted. */
export class TrimmedMarks {
  readonly #trims: readonly Trim[];

  constructor(calls: readonly Call[]) {
    this.#trims = calls.flatMap((call): Trim[] => {
      const { requested, outcome, id, invokedMs, endedMs } = call;
      if (requested.kind !== 'trim' || outcome.kind === 'refused') return [];
      const marks = new Set(requested.marks);
      return [{ id, invokedMs, endedMs, marks, isCertain: isAcknowledged(call) }];
    });
  }

  /** Whether an observation may be missing at a simulated time. */
  mayLack(mark: string, atMs = Number.POSITIVE_INFINITY): boolean {
    return this.#trims.some(({ marks, invokedMs }) => invokedMs < atMs && marks.has(mark));
  }

  /** Throws a `Violation` if an observation trimmed before `sinceMs` is still present. */
  assertGone(what: string, found: ReadonlySet<string>, sinceMs = Number.POSITIVE_INFINITY): void {
    for (const { id, marks, isCertain, endedMs } of this.#trims) {
      if (!isCertain || endedMs >= sinceMs) continue;
      for (const mark of marks) {
        if (!found.has(mark)) continue;
        throw new Violation(`${what} contains ${mark}, which call ${id} had trimmed`);
      }
    }
  }
}
