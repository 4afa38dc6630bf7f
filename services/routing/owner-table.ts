import type { ShardOwner } from '#fault/fault';

/**
 * What is known of who owns which shard, from heartbeats, announcements and refusals. Owners are
 * never invented; the highest epoch wins, except over one that is doubted. Source: architecture 3.5.
 *
 * There is no way to forget an owner without having another: with the bus down nobody would ever name
 * it again, while asking one that has gone only costs a refusal.
 */
export interface OwnerTable {
  /** On the hot path: must be cheap. */
  ownerOf(shard: number): ShardOwner | undefined;
  /** Takes in what a refusal has named; a lower epoch than the known one changes nothing. */
  learn(shard: number, owner: ShardOwner): void;
  /**
   * Says that the owner, asked at `askedMs` (monotonic), refused or gave no answer: the next word of
   * another one counts, whatever its epoch (decision 136).
   */
  doubt(shard: number, askedMs: number): void;
  /** Hears the number of each shard whose owner has changed. */
  onChange(listener: (shard: number) => void): Disposable;
  /** Hears of each node that comes, before it owns anything. */
  onJoined(listener: (node: JoinedNode) => void): Disposable;
}

/** A node that is there now. */
export type JoinedNode = Pick<ShardOwner, 'incarnation' | 'address'>;
