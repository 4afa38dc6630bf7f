import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
} from '#cluster/bounds';
import type { Membership } from '#cluster/membership';
import type { Clock } from '#platform/clock';

/**
 * When a shard may move on purpose: to a node that has seen what we see for 3 s, not again for 30 s,
 * and only so many at once; else views that differ would play ping-pong (architecture 3.4).
 */
export class RebalancingThrottle {
  readonly #clock: Clock;
  readonly #members: Membership;
  readonly #movedMs = new Map<number, number>();
  /** Since when each node's view has been ours (monotonic). */
  readonly #agreedMs = new Map<string, { viewHash: string; sinceMs: number }>();
  #movesInFlight = 0;
  /** Since when this node leaves, with how many shards, and how many of them have begun to move. */
  #leaving: { readonly sinceMs: number; readonly shards: number; begun: number } | undefined;

  constructor({ clock, members }: { clock: Clock; members: Membership }) {
    this.#clock = clock;
    this.#members = members;
  }

  /** Every second: notes whose view is ours. */
  look(): void {
    const { viewHash } = this.#members;
    const nowMs = this.#clock.monotonicMs();
    const before = new Map(this.#agreedMs);
    // Whoever is away or sees something else begins anew.
    this.#agreedMs.clear();
    for (const member of this.#members.present()) {
      if (member.viewHash !== viewHash) continue;
      const known = before.get(member.node);
      const isSame = known?.viewHash === viewHash;
      this.#agreedMs.set(member.node, isSame ? known : { viewHash, sinceMs: nowMs });
    }
  }

  /** Whether there is room for one more shard in motion. */
  get hasRoom(): boolean {
    return this.#movesInFlight < MOVES_IN_FLIGHT_MAX;
  }

  /** From now on this node gives all its shards up, about so many. */
  leave(shards: number): void {
    const sinceMs = this.#clock.monotonicMs();
    // Of few, one that is tried again need not wait long.
    this.#leaving ??= { sinceMs, shards: Math.max(shards, MOVES_IN_FLIGHT_MAX), begun: 0 };
  }

  /** Whether this node gives everything up. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /**
   * Whether a node that leaves may give one more shard away now: it spreads them over a while. What
   * still comes then, from a take-over that was under way, goes as fast as it can.
   */
  get mayGiveUp(): boolean {
    if (this.#leaving === undefined) return false;
    const { sinceMs, shards, begun } = this.#leaving;
    const passed = (this.#clock.monotonicMs() - sinceMs) / LEAVE_SPREAD_MS;
    return this.hasRoom && (passed >= 1 || begun < 1 + shards * passed);
  }

  /** Whether a shard may be given to `node` now. */
  mayMove(shard: number, node: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const restMs = nowMs - (this.#movedMs.get(shard) ?? Number.NEGATIVE_INFINITY);
    const agreed = this.#agreedMs.get(node);
    if (agreed === undefined || agreed.viewHash !== this.#members.viewHash) return false;
    return this.hasRoom && restMs >= MOVE_COOLDOWN_MS && nowMs - agreed.sinceMs >= AGREED_VIEW_MS;
  }

  /** A shard has come here by somebody's will: it rests, as one that has left does. */
  arrived(shard: number): void {
    this.#movedMs.set(shard, this.#clock.monotonicMs());
  }

  /** A shard is in motion until the returned disposable ends it. */
  moving(shard: number): Disposable {
    this.#movesInFlight += 1;
    if (this.#leaving !== undefined) this.#leaving.begun += 1;
    this.#movedMs.set(shard, this.#clock.monotonicMs());
    return {
      [Symbol.dispose]: () => {
        this.#movesInFlight -= 1;
      },
    };
  }
}
