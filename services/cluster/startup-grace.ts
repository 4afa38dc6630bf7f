import { OUTAGE_GRACE_MS } from '#cluster/bounds';
import type { FailureWatch } from '#cluster/failure-watch';
import type { Membership } from '#cluster/membership';
import type { Clock } from '#platform/clock';
import type { ShardRow } from '#storage/shard-store';

/** How long a node that has just started looks around before it claims anything (decision 104). */
export class StartupGrace {
  readonly #startupGraceMs: number;
  readonly #clock: Clock;
  readonly #members: Membership;
  readonly #detector: FailureWatch;
  readonly #startedMs: number;

  constructor(
    startupGraceMs: number,
    ports: {
      readonly clock: Clock;
      readonly members: Membership;
      readonly detector: FailureWatch;
    },
  ) {
    this.#startupGraceMs = startupGraceMs;
    this.#clock = ports.clock;
    this.#members = ports.members;
    this.#detector = ports.detector;
    this.#startedMs = ports.clock.monotonicMs();
  }

  /** Whether that time is over, as far as the table says. */
  isOver(rows: Iterable<ShardRow>): boolean {
    const sinceMs = this.#clock.monotonicMs() - this.#startedMs;
    if (sinceMs >= this.#startupGraceMs) return true;
    return sinceMs >= OUTAGE_GRACE_MS && this.#isComplete(rows);
  }

  /** Whether every owner is heard or dead, and as many nodes are here as there are owners: all are back. */
  #isComplete(rows: Iterable<ShardRow>): boolean {
    const owners = [...new Set([...rows].map(({ owner }) => owner))];
    const present = new Set(this.#members.present().map(({ incarnation }) => incarnation));
    if (owners.length === 0 || present.size < owners.length) return false;
    return owners.every((owner) => present.has(owner) || this.#detector.isSealed(owner));
  }
}
