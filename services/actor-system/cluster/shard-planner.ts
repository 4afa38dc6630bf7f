import {
  AGREED_VIEW_MS,
  LEAVE_SPREAD_MS,
  MOVE_COOLDOWN_MS,
  MOVES_IN_FLIGHT_MAX,
  OUTAGE_GRACE_MS,
} from '#cluster/failover-timing';
import type { ShardRow } from '#storage/ports/cluster';

/** Shards of this node, as the planner sees them. */
type HeldShards = {
  /** Shards served here, with their epochs. */
  readonly open: ReadonlyMap<number, number>;
  /** Last epoch at which this incarnation opened each shard. */
  readonly opened: ReadonlyMap<number, number>;
  /** Shards with a running task. */
  readonly busy: ReadonlySet<number>;
};

/** View of this node on its cluster. */
type ClusterView = {
  /** Monotonic time at which this node started. */
  readonly startedMs: number;
  /** Time for which this node listens before it claims shards, in milliseconds. */
  readonly startupGraceMs: number;
  /** Present incarnations, including this incarnation. */
  readonly present: ReadonlySet<string>;
  readonly isSealed: (incarnation: string) => boolean;
  /** Whether the bus is connected. */
  readonly isConnected: boolean;
  /** Whether at least half of the shard owners are heard. */
  readonly hearsEnough: boolean;
};

/** Inputs of the shard planner. */
export type ShardFacts = {
  readonly self: { readonly incarnation: string; readonly node: string };
  readonly shardCount: number;
  /** Shard table: for each shard the row with the largest epoch seen. */
  readonly rows: ReadonlyMap<number, ShardRow>;
  /** Node that should own each shard; empty if there are no nodes. */
  readonly ring: readonly string[];
  readonly held: HeldShards;
  readonly view: ClusterView;
  readonly throttle: Pick<RebalancingThrottle, 'isLeaving' | 'hasRoom' | 'mayGiveUp' | 'mayMove'>;
};

/** Action that the planner requests from the shard controller. */
export type ShardAction =
  /** Ends this incarnation, because another node has taken a shard that is served here. */
  | { readonly kind: 'fence'; readonly shard: number }
  /** Marks claims up to the row's epoch as decided, because the row names another owner. */
  | { readonly kind: 'decided'; readonly row: ShardRow }
  /** Opens a shard whose row names this incarnation at an epoch that it has not opened yet. */
  | { readonly kind: 'open'; readonly row: ShardRow }
  /** Closes an open shard and makes `target` its owner. Without a target, only closes the shard. */
  | {
      readonly kind: 'give';
      readonly shard: number;
      readonly epoch: number;
      readonly target: string | undefined;
    }
  /**
   * Hands a closed shard to `target`, or to this incarnation at the next epoch. The row names this
   * incarnation, which has closed that epoch.
   */
  | { readonly kind: 'moveOn'; readonly row: ShardRow; readonly target: string | undefined }
  /** Claims shards that have never had an owner. */
  | { readonly kind: 'claimFirst'; readonly shards: readonly number[] }
  /** Recovers the tail of a sealed owner's journal, and claims its shards. */
  | { readonly kind: 'takeOver'; readonly owner: string; readonly rows: readonly ShardRow[] };

/** Nodes on the ring, without this node while it leaves. */
export function ringNodes(
  present: readonly { readonly node: string }[],
  node: string,
  isLeaving: boolean,
): string[] {
  const nodes = present.map((member) => member.node);
  return isLeaving ? nodes.filter((other) => other !== node) : nodes;
}

/**
 * Actions that bring the shards of this node in line with the table and the ring. Level-triggered:
 * equal facts give equal actions, whatever happened before (architecture 3.3, 3.4).
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
    // Fencing is returned alone and ends the plan: another node serves a shard that is open here.
    if (action?.kind === 'fence') return [action];
    if (action?.kind === 'give') moves += 1;
    if (action !== undefined) actions.push(action);
  }
  const wanted = places.filter((place) => isWanted(facts, place)).map(({ shard }) => shard);
  if (wanted.length === 0 || !mayClaim(facts, nowMs)) return actions;
  return [...actions, ...planClaims(facts, wanted)];
}

/** Shard, its row, and the node that should own it. */
type Place = {
  readonly shard: number;
  readonly row: ShardRow | undefined;
  readonly target: string | undefined;
};

/** Current time, and the number of handoffs that are already in this plan. */
type Moment = { readonly nowMs: number; readonly moves: number };

function planShard(facts: ShardFacts, place: Place, moment: Moment): ShardAction | undefined {
  const epoch = facts.held.open.get(place.shard);
  if (epoch !== undefined) return planOpen(facts, { ...place, epoch }, moment);
  const { row, target } = place;
  if (row === undefined) return undefined;
  if (row.owner === facts.self.incarnation) return planClosed(facts, row, target);
  return { kind: 'decided', row };
}

/** Whether this node should own a shard that it neither serves nor has in the table. */
function isWanted({ held, self }: ShardFacts, { shard, row, target }: Place): boolean {
  return target === self.node && !held.open.has(shard) && row?.owner !== self.incarnation;
}

/** Plans a shard that is served here at `epoch`. */
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

/** Plans a shard that the table assigns to this incarnation and that is not open here. */
function planClosed(
  { self, held, throttle }: ShardFacts,
  row: ShardRow,
  target: string | undefined,
): ShardAction | undefined {
  // At most once per epoch, because a closed epoch may already belong to another node (architecture
  // 3.3).
  if (row.epoch > (held.opened.get(row.shard) ?? 0)) return { kind: 'open', row };
  // Without another node, a leaving node keeps the rows of its closed shards.
  if (throttle.isLeaving && target === undefined) return undefined;
  return { kind: 'moveOn', row, target: target === self.node ? undefined : target };
}

function mayClaim(facts: ShardFacts, nowMs: number): boolean {
  const { throttle, view } = facts;
  if (throttle.isLeaving || !view.isConnected || !view.hearsEnough) return false;
  return isStartupOver(facts, nowMs);
}

/**
 * Whether a node that has just started has listened long enough to claim. The wait is short if
 * every owner is heard or sealed and there are at least as many present nodes as owners, because
 * then no node is missing.
 */
function isStartupOver({ rows, view }: ShardFacts, nowMs: number): boolean {
  const sinceMs = nowMs - view.startedMs;
  if (sinceMs >= view.startupGraceMs) return true;
  const owners = new Set([...rows.values()].map(({ owner }) => owner));
  if (sinceMs < OUTAGE_GRACE_MS || owners.size === 0 || view.present.size < owners.size)
    return false;
  return [...owners].every((owner) => view.present.has(owner) || view.isSealed(owner));
}

/** Claims for wanted shards: shards without an owner, and shards of sealed owners. */
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

/** Node and the view hash in its heartbeat. */
type NodeView = { readonly node: string; readonly viewHash: string };

/**
 * Rate limit of rebalancing. A shard moves only to a node that has had this node's view for 3 s. A
 * shard moves at most once in 30 s, and at most 8 shards move at the same time. Otherwise differing
 * views would move shards back and forth (architecture 3.4). All times are monotonic and are passed
 * in by the caller.
 */
export class RebalancingThrottle {
  readonly #movedMs = new Map<number, number>();
  /**
   * Nodes whose view equals this node's view, with the monotonic time since which the views are
   * equal.
   */
  readonly #agreedMs = new Map<string, { readonly viewHash: string; readonly sinceMs: number }>();
  #movesInFlight = 0;
  /** Leave in progress: begin (monotonic), shard count, and number of moves begun. */
  #leaving: { readonly sinceMs: number; readonly shards: number; begun: number } | undefined;

  /** Records which present nodes have this node's view. Must be called every second. */
  look(viewHash: string, present: readonly NodeView[], nowMs: number): void {
    const before = new Map(this.#agreedMs);
    // The time starts again for a node that was absent or had another view.
    this.#agreedMs.clear();
    for (const member of present) {
      if (member.viewHash !== viewHash) continue;
      const known = before.get(member.node);
      const isSame = known?.viewHash === viewHash;
      this.#agreedMs.set(member.node, isSame ? known : { viewHash, sinceMs: nowMs });
    }
  }

  /** Whether another move may begin, given the moves in flight and `planned` further moves. */
  hasRoom(planned = 0): boolean {
    return this.#movesInFlight + planned < MOVES_IN_FLIGHT_MAX;
  }

  /** Starts leaving: this node hands off all its shards. `shards` is their approximate number. */
  leave(shards: number, nowMs: number): void {
    // A minimum, so that a retry does not wait long if there are few shards.
    const counted = Math.max(shards, MOVES_IN_FLIGHT_MAX);
    this.#leaving ??= { sinceMs: nowMs, shards: counted, begun: 0 };
  }

  /** Whether this node is leaving. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined;
  }

  /**
   * Whether a leaving node may hand off another shard now, given `planned` further handoffs.
   * Handoffs are spread over `LEAVE_SPREAD_MS`. After this time every shard is handed off
   * immediately, for example a shard from a takeover that was in progress.
   */
  mayGiveUp(nowMs: number, planned = 0): boolean {
    if (this.#leaving === undefined) return false;
    const { sinceMs, shards, begun } = this.#leaving;
    const passed = (nowMs - sinceMs) / LEAVE_SPREAD_MS;
    return this.hasRoom(planned) && (passed >= 1 || begun + planned < 1 + shards * passed);
  }

  /** Whether a shard may be handed to `node` now, given `planned` further moves. */
  mayMove(shard: number, node: string, nowMs: number, planned = 0): boolean {
    const agreed = this.#agreedMs.get(node);
    if (agreed === undefined || nowMs - agreed.sinceMs < AGREED_VIEW_MS) return false;
    const movedMs = this.#movedMs.get(shard) ?? Number.NEGATIVE_INFINITY;
    return this.hasRoom(planned) && nowMs - movedMs >= MOVE_COOLDOWN_MS;
  }

  /** Starts the cool-down of a shard that was handed to this node. */
  arrived(shard: number, nowMs: number): void {
    this.#movedMs.set(shard, nowMs);
  }

  /** Counts a shard's move as in flight until the returned disposable is disposed. */
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
