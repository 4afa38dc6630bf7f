import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
  OUTAGE_GRACE_MS,
} from '#cluster/bounds';
import type { ShardRow } from '#storage/ports/cluster';

/** What a node has of the shards. */
type HeldShards = {
  /** Shards that are served here, with the epoch of each. */
  readonly open: ReadonlyMap<number, number>;
  /** The last epoch at which this incarnation opened each shard. */
  readonly opened: ReadonlyMap<number, number>;
  /** Shards of which a task is under way. */
  readonly busy: ReadonlySet<number>;
};

/** What a node sees of its cluster. */
type ClusterView = {
  /** When it started (monotonic), and how long it then listens, in milliseconds. */
  readonly startedMs: number;
  readonly startupGraceMs: number;
  /** The incarnations that are present, this one included. */
  readonly present: ReadonlySet<string>;
  readonly isSealed: (incarnation: string) => boolean;
  /** Whether the bus reaches others. */
  readonly isConnected: boolean;
  /** Whether at least half of the owners of shards are heard. */
  readonly hearsEnough: boolean;
};

/** Everything from which the shards of a node are planned. */
export type ShardFacts = {
  readonly self: { readonly incarnation: string; readonly node: string };
  readonly shardCount: number;
  /** The table: of each shard the row with the largest epoch that was seen. */
  readonly rows: ReadonlyMap<number, ShardRow>;
  /** The node that should own each shard; empty without nodes. */
  readonly ring: readonly string[];
  readonly held: HeldShards;
  readonly view: ClusterView;
  readonly throttle: Pick<RebalancingThrottle, 'isLeaving' | 'hasRoom' | 'mayGiveUp' | 'mayMove'>;
};

/** One thing to do about shards. */
export type ShardAction =
  /** Another node has taken a shard that is served here: this incarnation ends. */
  | { readonly kind: 'fence'; readonly shard: number }
  /** The row names another owner: claims up to its epoch are decided. */
  | { readonly kind: 'decided'; readonly row: ShardRow }
  /** The row names this incarnation at an epoch that it has not opened yet. */
  | { readonly kind: 'open'; readonly row: ShardRow }
  /** Closes an open shard and makes `target` its owner; without a target it is only closed. */
  | {
      readonly kind: 'give';
      readonly shard: number;
      readonly epoch: number;
      readonly target: string | undefined;
    }
  /** The row names this incarnation, which has closed that epoch: to `target`, or to itself again. */
  | { readonly kind: 'moveOn'; readonly row: ShardRow; readonly target: string | undefined }
  /** Claims shards that no node has ever owned. */
  | { readonly kind: 'claimFirst'; readonly shards: readonly number[] }
  /** Recovers the tail of a sealed owner, and claims its shards. */
  | { readonly kind: 'takeOver'; readonly owner: string; readonly rows: readonly ShardRow[] };

/** The nodes that the ring is made of: never this one while it leaves. */
export function ringNodes(
  present: readonly { readonly node: string }[],
  node: string,
  isLeaving: boolean,
): string[] {
  const nodes = present.map((member) => member.node);
  return isLeaving ? nodes.filter((other) => other !== node) : nodes;
}

/**
 * What to do about the shards now, by the table and the ring. Level-triggered: the same facts give
 * the same actions, whatever has happened before (architecture 3.3, 3.4).
 */
export function planShards(facts: ShardFacts, nowMs: number): ShardAction[] {
  const shards = Array.from({ length: facts.shardCount }, (_, shard) => shard);
  const places = shards
    .filter((shard) => !facts.held.busy.has(shard))
    .map((shard) => ({ shard, row: facts.rows.get(shard), target: facts.ring[shard] }));
  const actions: ShardAction[] = [];
  let moves = 0;
  for (const place of places) {
    const action = planShard(facts, place, { nowMs, moves });
    // Before anything else: another node serves what is open here.
    if (action?.kind === 'fence') return [action];
    if (action?.kind === 'give') moves += 1;
    if (action !== undefined) actions.push(action);
  }
  const wanted = places.filter((place) => isWanted(facts, place)).map(({ shard }) => shard);
  if (wanted.length === 0 || !mayClaim(facts, nowMs)) return actions;
  return [...actions, ...planClaims(facts, wanted)];
}

/** A shard, its row, and the node that should own it. */
type Place = {
  readonly shard: number;
  readonly row: ShardRow | undefined;
  readonly target: string | undefined;
};

/** The moment, and how many shards were planned to be given away at it. */
type Moment = { readonly nowMs: number; readonly moves: number };

function planShard(facts: ShardFacts, place: Place, moment: Moment): ShardAction | undefined {
  const epoch = facts.held.open.get(place.shard);
  if (epoch !== undefined) return planOpen(facts, { ...place, epoch }, moment);
  const { row, target } = place;
  if (row === undefined) return undefined;
  if (row.owner === facts.self.incarnation) return planClosed(facts, row, target);
  return { kind: 'decided', row };
}

/** Whether this node should own a shard that it neither serves nor has. */
function isWanted({ held, self }: ShardFacts, { shard, row, target }: Place): boolean {
  return target === self.node && !held.open.has(shard) && row?.owner !== self.incarnation;
}

/** A shard that is served here at `epoch`. */
function planOpen(
  { self, view, throttle }: ShardFacts,
  { shard, row, target, epoch }: Place & { readonly epoch: number },
  { nowMs, moves }: Moment,
): ShardAction | undefined {
  if (row !== undefined && row.epoch >= epoch) {
    const isTaken = row.epoch > epoch || row.owner !== self.incarnation;
    if (isTaken) return { kind: 'fence', shard };
  }
  const give = { kind: 'give', shard, epoch, target } as const;
  if (throttle.isLeaving) {
    const mayGo = target === undefined ? throttle.hasRoom(moves) : throttle.mayGiveUp(nowMs, moves);
    return mayGo ? give : undefined;
  }
  if (target === undefined || target === self.node) return undefined;
  if (!view.isConnected || !view.hearsEnough) return undefined;
  return throttle.mayMove(shard, target, nowMs, moves) ? give : undefined;
}

/** A shard that the table gives to this incarnation and that is not open here. */
function planClosed(
  { self, held, throttle }: ShardFacts,
  row: ShardRow,
  target: string | undefined,
): ShardAction | undefined {
  // At most once: an epoch that was closed may be another node's by now (architecture 3.3).
  if (row.epoch > (held.opened.get(row.shard) ?? 0)) return { kind: 'open', row };
  // A node that leaves keeps the rows of what it has closed when there is no other node.
  if (throttle.isLeaving && target === undefined) return undefined;
  return { kind: 'moveOn', row, target: target === self.node ? undefined : target };
}

function mayClaim(facts: ShardFacts, nowMs: number): boolean {
  const { throttle, view } = facts;
  if (throttle.isLeaving || !view.isConnected || !view.hearsEnough) return false;
  return isStartupOver(facts, nowMs);
}

/**
 * Whether a node that has just started has listened long enough to claim: at once when every owner
 * is heard or sealed and as many nodes are present as there are owners, because then it waits for
 * none.
 */
function isStartupOver({ rows, view }: ShardFacts, nowMs: number): boolean {
  const sinceMs = nowMs - view.startedMs;
  if (sinceMs >= view.startupGraceMs) return true;
  const owners = new Set([...rows.values()].map(({ owner }) => owner));
  if (sinceMs < OUTAGE_GRACE_MS || owners.size === 0 || view.present.size < owners.size)
    return false;
  return [...owners].every((owner) => view.present.has(owner) || view.isSealed(owner));
}

/** The shards that this node should own: those without an owner, and those of sealed owners. */
function planClaims({ rows, view }: ShardFacts, wanted: readonly number[]): ShardAction[] {
  const actions: ShardAction[] = [];
  const shards = wanted.filter((shard) => !rows.has(shard));
  if (shards.length > 0) actions.push({ kind: 'claimFirst', shards });
  const owned = wanted.map((shard) => rows.get(shard)).filter((row) => row !== undefined);
  for (const [owner, lost] of Map.groupBy(owned, (row) => row.owner)) {
    if (view.isSealed(owner)) actions.push({ kind: 'takeOver', owner, rows: lost });
  }
  return actions;
}

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
