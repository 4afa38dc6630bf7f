import type { DeathWatch } from '#cluster/death-watch';
import { OUTAGE_SETTLE_MS } from '#cluster/keeper-bounds';
import type { Members } from '#cluster/members';
import type { Clock } from '#platform/clock';
import type { ShardRow } from '#storage/shard-store';

/** How long a node that has just started looks around before it claims anything (decision 104). */
export class Settling {
  readonly #settleMs: number;
  readonly #clock: Clock;
  readonly #members: Members;
  readonly #deaths: DeathWatch;
  readonly #startedMs: number;

  constructor(
    settleMs: number,
    ports: { readonly clock: Clock; readonly members: Members; readonly deaths: DeathWatch },
  ) {
    this.#settleMs = settleMs;
    this.#clock = ports.clock;
    this.#members = ports.members;
    this.#deaths = ports.deaths;
    this.#startedMs = ports.clock.monotonicMs();
  }

  /** Whether that time is over, as far as the table says. */
  isOver(rows: Iterable<ShardRow>): boolean {
    const sinceMs = this.#clock.monotonicMs() - this.#startedMs;
    if (sinceMs >= this.#settleMs) return true;
    return sinceMs >= OUTAGE_SETTLE_MS && this.#isOutage(rows);
  }

  /** Whether nobody serves anything, all owners having died, and as many nodes are here as they were. */
  #isOutage(rows: Iterable<ShardRow>): boolean {
    const owners = [...new Set([...rows].map(({ owner }) => owner))];
    const areBack = owners.length > 0 && this.#members.present().length >= owners.length;
    return areBack && owners.every((owner) => this.#deaths.isSealed(owner));
  }
}
