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
    return sinceMs >= OUTAGE_SETTLE_MS && this.#isComplete(rows);
  }

  /** Whether every owner is heard or dead, and as many nodes are here as there are owners: all are back. */
  #isComplete(rows: Iterable<ShardRow>): boolean {
    const owners = [...new Set([...rows].map(({ owner }) => owner))];
    const present = new Set(this.#members.present().map(({ incarnation }) => incarnation));
    if (owners.length === 0 || present.size < owners.length) return false;
    return owners.every((owner) => present.has(owner) || this.#deaths.isSealed(owner));
  }
}
