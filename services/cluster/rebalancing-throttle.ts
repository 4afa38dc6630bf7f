import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
} from '#cluster/bounds';

/** A node and the hash of its view, as its heartbeat names it. */
type NodeView = { readonly node: string; readonly viewHash: string };

/**
 * When a shard may move on purpose: to a node that has had this node's view for 3 s, not again
 * within 30 s, and 8 at once; else views that differ would play ping-pong (architecture 3.4). Every
 * time is monotonic and comes from the caller.
 */
export class RebalancingThrottle {
  readonly #movedMs = new Map<number, number>();
  /** Since when each node's view has been the same as this node's. */
  readonly #agreedMs = new Map<string, { readonly viewHash: string; readonly sinceMs: number }>();
  #movesInFlight = 0;
  /** Since when this node leaves, with how many shards, and how many of them have begun to move. */
  #leaving: { readonly sinceMs: number; readonly shards: number; begun: number } | undefined;

  /** Every second: notes which of the present nodes have this node's view. */
  look(viewHash: string, present: readonly NodeView[], nowMs: number): void {
    const before = new Map(this.#agreedMs);
    // A node that is away or has another view begins again.
    this.#agreedMs.clear();
    for (const member of present) {
      if (member.viewHash !== viewHash) continue;
      const known = before.get(member.node);
      const isSame = known?.viewHash === viewHash;
      this.#agreedMs.set(member.node, isSame ? known : { viewHash, sinceMs: nowMs });
    }
  }

  /** Whether one more move may begin besides those in flight and `planned` ones. */
  hasRoom(planned = 0): boolean {
    return this.#movesInFlight + planned < MOVES_IN_FLIGHT_MAX;
  }

  /** From now on this node gives all its shards away, about `shards` of them. */
  leave(shards: number, nowMs: number): void {
    // Of few, one that is tried again need not wait long.
    const counted = Math.max(shards, MOVES_IN_FLIGHT_MAX);
    this.#leaving ??= { sinceMs: nowMs, shards: counted, begun: 0 };
  }

  /** Whether this node gives all its shards away. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /**
   * Whether a node that leaves may give one more shard away now, besides `planned` ones: it spreads
   * them over a while. A shard that arrives after that, from a takeover that was under way, is
   * given away at once.
   */
  mayGiveUp(nowMs: number, planned = 0): boolean {
    if (this.#leaving === undefined) return false;
    const { sinceMs, shards, begun } = this.#leaving;
    const passed = (nowMs - sinceMs) / LEAVE_SPREAD_MS;
    return this.hasRoom(planned) && (passed >= 1 || begun + planned < 1 + shards * passed);
  }

  /** Whether a shard may be given to `node` now, besides `planned` ones. */
  mayMove(shard: number, node: string, nowMs: number, planned = 0): boolean {
    const agreed = this.#agreedMs.get(node);
    if (agreed === undefined || nowMs - agreed.sinceMs < AGREED_VIEW_MS) return false;
    const movedMs = this.#movedMs.get(shard) ?? Number.NEGATIVE_INFINITY;
    return this.hasRoom(planned) && nowMs - movedMs >= MOVE_COOLDOWN_MS;
  }

  /** A shard was given to this node: it cools down, as one that was given away does. */
  arrived(shard: number, nowMs: number): void {
    this.#movedMs.set(shard, nowMs);
  }

  /** A shard's move is in flight until the returned disposable ends it. */
  moving(shard: number, nowMs: number): Disposable {
    this.#movesInFlight += 1;
    if (this.#leaving !== undefined) this.#leaving.begun += 1;
    this.#movedMs.set(shard, nowMs);
    return {
      [Symbol.dispose]: () => {
        this.#movesInFlight -= 1;
      },
    };
  }
}
