import type { ShardOwners } from '#cluster/shard-owners';
import type { FaultReason } from '#errors/error-reasons';
import { type Fault, faultFor, type ShardOwner, toFault } from '#errors/fault';
import { ACCOUNT_CALL_MS_MAX, CALL_TIMEOUT_MS_MAX, LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { EngineAnswer, EngineCall, EngineClient, EngineCommand } from '#grpc/engine-messages';
import type { RecoverCall } from '#grpc/frame-client';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#grpc/limiter-messages';
import type { Peer } from '#routing/peer';
import {
  CONNECT_AGAIN_MS,
  isOwnerInDoubt,
  LIMITER_MOVING_MS_MAX,
  LIMITER_MOVING_STEPS,
  LIMITER_PAUSE_MS_MAX,
  LIMITER_PAUSE_MS_MIN,
  ofUnknownOutcome,
  type Pauses,
  PEER_IDLE_MS,
  PEER_SWEEP_MS,
  PEERS_MAX,
  pauseMsOf,
  RETRY_PAUSE_MS_MAX,
  RETRY_PAUSE_MS_MIN,
  type RetryReason,
  ROUTES_MS_MAX,
  ROUTES_POLL_MS,
  type RoutingPolicy,
  retryReasonOf,
  SETTLE_MS_MAX,
  WaitingCalls,
} from '#routing/retry-policy';
import { type Clock, every, sleep } from '#stdlib/clock';

/** Methods of the routing table that routing uses. `ownerOf` is on the hot path. */
export type Routes = Pick<ShardOwners, 'ownerOf' | 'learn' | 'doubt' | 'onChange' | 'onJoined'>;

/** Options of a routed service. */
export type RoutedServiceOptions<Call, Answer> = {
  readonly routes: Routes;
  readonly shardCount: number;
  /** Shard of an actor id. On the hot path: must be cheap. */
  readonly shardOf: (id: string) => number;
  /** Opens a connection, or returns this process's own node for its own address. */
  readonly connect: (address: string) => Peer<Call, Answer>;
  readonly clock: Clock;
  /** Uniform in [0, 1), for the jitter of pauses. */
  readonly random: () => number;
  /** Called for every retry, but not for the first attempt. */
  readonly onRetry?: (reason: RetryReason) => void;
};

/** Call between two attempts. */
type Retry<Call> = Pauses & {
  readonly call: Call;
  readonly shard: number;
  /** End of the call, after which no attempt begins (monotonic). */
  endMs: number;
  /** End of the call if its shard is known to be moving (monotonic). */
  readonly movingEndMs: number;
  /** Whether any attempt so far may have taken effect. */
  isOutcomeUnknown: boolean;
};

/**
 * Client for all nodes of a sharded service. Each call is sent to the owner of its shard. While the
 * shard moves, the call is retried unchanged until it times out. Source: architecture 3.5.
 *
 * The policy decides whether a call that may have taken effect is retried. An actor's refusals are
 * never retried. Refusals are passed on unchanged, but marked if an earlier attempt may have taken
 * effect.
 */
class RoutedService<Call, Answer> implements AsyncDisposable {
  readonly #policy: RoutingPolicy<Call, Answer>;
  readonly #options: RoutedServiceOptions<Call, Answer>;
  readonly #peers: PeerPool<Call, Answer>;
  readonly #waiting: WaitingCalls;
  readonly #listening = new DisposableStack();
  #isDisposed = false;

  constructor(policy: RoutingPolicy<Call, Answer>, options: RoutedServiceOptions<Call, Answer>) {
    this.#policy = policy;
    this.#options = options;
    const { clock, connect, routes } = options;
    this.#waiting = new WaitingCalls(clock);
    this.#peers = new PeerPool({
      connect,
      clock,
      owners: () => this.#owners(),
      onOpen: (address) => this.#waiting.wakeAddress(address),
    });
    const changed = (shard: number, owner: ShardOwner): void => {
      this.#peers.meet(owner);
      this.#waiting.wakeShard(shard);
    };
    this.#listening.use(routes.onChange(changed));
    this.#listening.use(routes.onJoined((node) => this.#peers.meet(node)));
  }

  /**
   * Fulfils when every shard's owner is known and connected, so that no call waits for the next
   * heartbeat. Fulfils after 3 s at the latest, so that a single shard without an owner does not
   * block the others.
   */
  async ready(): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + ROUTES_MS_MAX;
    while (!this.#isDisposed && !this.#isRouted() && clock.monotonicMs() < endMs) {
      await sleep(clock, ROUTES_POLL_MS);
    }
  }

  /**
   * Sends a call to the owner. Rejects with the actor's refusals, and as unavailable if no owner
   * answered within the call's timeout.
   */
  ask(call: Call): Answer | Promise<Answer> {
    const { routes } = this.#options;
    const owner = routes.ownerOf(this.#shardOf(call));
    const isAskable = owner !== undefined && !this.#isDisposed;
    const peer = isAskable ? this.#peers.at(owner.address, owner.incarnation) : undefined;
    if (peer !== undefined) return peer.askOr(call, this.#recover);
    return this.#again(call, undefined, this.#options.clock.monotonicMs());
  }

  #shardOf(call: Call): number {
    return this.#options.shardOf(this.#policy.routingIdOf(call));
  }

  /** Known address of an actor's owner; undefined if no owner is known. */
  addressOf(id: string): string | undefined {
    return this.#options.routes.ownerOf(this.#options.shardOf(id))?.address;
  }

  /**
   * Sends a call to one node, without a retry. Waits for the connection up to the call's timeout.
   * Meant for queries that have a fallback if the node does not answer. Throws the node's refusals
   * unchanged.
   */
  async askAt(address: string, call: Call): Promise<Answer> {
    const timeoutMs = this.#policy.timeoutMsOf(call);
    const endMs = this.#endMsOf(call, this.#options.clock.monotonicMs(), timeoutMs);
    const peer = this.#isDisposed ? undefined : this.#peers.at(address);
    if (peer?.isOpen === false) {
      this.#peers.watch(address);
      await this.#waiting.wait(this.#leftMs(endMs), { shard: undefined, address });
    }
    const { unavailable } = this.#policy;
    if (peer?.isOpen !== true || this.#isDisposed) throw unanswered(unavailable, false);
    return peer.ask(call, { timeoutMs: this.#leftMs(endMs) });
  }

  /** Number of calls waiting for a retry, and number of connections. */
  get totals(): { waitingCalls: number; peers: number } {
    return { waitingCalls: this.#waiting.size, peers: this.#peers.size };
  }

  /** Ends waiting calls with `shutting_down`, and closes all connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#listening[Symbol.dispose]();
    this.#waiting.wakeAll();
    await this.#peers[Symbol.asyncDispose]();
  }

  /** Whether every shard's owner is connected. Connects to all known owners. */
  #isRouted(): boolean {
    const { routes, shardCount } = this.#options;
    const owners = Array.from({ length: shardCount }, (_, shard) => routes.ownerOf(shard));
    const peers = owners.map((owner) => owner && this.#peers.at(owner.address, owner.incarnation));
    return peers.every((peer) => peer?.isOpen === true);
  }

  readonly #recover: RecoverCall<Call, Answer> = (call, fault, askedAtMs) => {
    this.#doubtOwner(call, fault, askedAtMs);
    return retryReasonOf(this.#policy, fault) === undefined
      ? undefined
      : this.#again(call, fault, askedAtMs);
  };

  /**
   * Doubts that the called node owns the shard. The known owner may come from bus messages alone
   * (decision 136).
   */
  #doubtOwner(call: Call, fault: Fault, askedAtMs: number): void {
    const { routes } = this.#options;
    if (isOwnerInDoubt(fault)) routes.doubt(this.#shardOf(call), askedAtMs);
  }

  /**
   * Makes all attempts after the first attempt. `fault`: the fault of the first attempt; undefined
   * if no owner was known.
   */
  async #again(call: Call, fault: Fault | undefined, startedMs: number): Promise<Answer> {
    const { routes, clock, onRetry } = this.#options;
    const retry: Retry<Call> = {
      call,
      shard: this.#shardOf(call),
      endMs: this.#endMsOf(call, startedMs, this.#policy.timeoutMsOf(call)),
      movingEndMs: this.#endMsOf(call, startedMs, this.#policy.movingMs),
      pauses: 0,
      hasRedirected: false,
      isOutcomeUnknown: false,
    };
    let reason = this.#failed(retry, fault);
    for (;;) {
      await this.#pause(retry, fault);
      this.#assertTimeLeft(retry);
      onRetry?.(reason);
      const owner = routes.ownerOf(retry.shard);
      const peer = owner && this.#peers.at(owner.address, owner.incarnation);
      const askedAtMs = clock.monotonicMs();
      try {
        if (peer !== undefined) {
          const answer = await peer.ask(call, { timeoutMs: this.#leftMs(retry.endMs) });
          return retry.isOutcomeUnknown ? this.#policy.afterUnknown(answer) : answer;
        }
        fault = undefined;
      } catch (error) {
        fault = toFault(error);
        this.#doubtOwner(call, fault, askedAtMs);
      }
      reason = this.#failed(retry, fault);
    }
  }

  /** Updates `retry` after a failed attempt. Throws faults that must not be retried. */
  #failed(retry: Retry<Call>, fault: Fault | undefined): RetryReason {
    if (fault === undefined) return 'no_owner';
    retry.isOutcomeUnknown ||= fault.isOutcomeUnknown;
    const reason = retryReasonOf(this.#policy, fault);
    if (reason === undefined) throw retry.isOutcomeUnknown ? ofUnknownOutcome(fault) : fault;
    const isMoving = reason === 'not_owner' || reason === 'shutting_down';
    if (isMoving) retry.endMs = Math.max(retry.endMs, retry.movingEndMs);
    if (fault.owner !== undefined) this.#options.routes.learn(retry.shard, fault.owner);
    return reason;
  }

  /** Waits for the pause before the next attempt. */
  async #pause(retry: Retry<Call>, fault: Fault | undefined): Promise<void> {
    const { random, routes } = this.#options;
    const { shard } = retry;
    const named = fault?.owner?.incarnation;
    const isHinted = named !== undefined && routes.ownerOf(shard)?.incarnation === named;
    const pauseMs = pauseMsOf(retry, this.#policy, isHinted, random);
    if (pauseMs === 0) return;
    const address = routes.ownerOf(shard)?.address;
    if (address !== undefined) this.#peers.watch(address);
    try {
      const delayMs = Math.min(pauseMs, this.#leftMs(retry.endMs));
      await this.#waiting.wait(delayMs, { shard, address });
    } catch (error) {
      throw retry.isOutcomeUnknown ? ofUnknownOutcome(toFault(error)) : error;
    }
  }

  #assertTimeLeft({ call, endMs, isOutcomeUnknown }: Retry<Call>): void {
    const { clock } = this.#options;
    const { unavailable, deadlineAtMsOf } = this.#policy;
    if (this.#isDisposed) throw unanswered('shutting_down', isOutcomeUnknown);
    const isOver = clock.monotonicMs() >= endMs || clock.wallMs() >= deadlineAtMsOf(call);
    if (isOver) throw unanswered(unavailable, isOutcomeUnknown);
  }

  /**
   * End of a call whose first attempt began at `startedMs` (monotonic), at most `timeoutMs` later.
   */
  #endMsOf(call: Call, startedMs: number, timeoutMs: number): number {
    const { clock } = this.#options;
    // Uses both clocks. If the wall clock steps back, the call must still end before the actor
    // forgets the call's id.
    const leftMs = this.#policy.deadlineAtMsOf(call) - clock.wallMs();
    return Math.min(startedMs + timeoutMs, clock.monotonicMs() + leftMs);
  }

  #leftMs(endMs: number): number {
    return Math.max(0, endMs - this.#options.clock.monotonicMs());
  }

  *#owners(): Iterable<string> {
    const { routes, shardCount } = this.#options;
    for (let shard = 0; shard < shardCount; shard += 1) {
      const owner = routes.ownerOf(shard);
      if (owner !== undefined) yield owner.address;
    }
  }
}

function unanswered(reason: FaultReason, isOutcomeUnknown: boolean): Fault {
  return faultFor(reason, 'the service did not answer in time', {
    retryAfterS: 1,
    isOutcomeUnknown,
  });
}

/**
 * Client for all engines of a cluster. A call is sent to the owner of its instance or listing until
 * its deadline, at most 10 s after the first attempt. Source: architecture 3.5.
 *
 * A retry never advances an instance twice, because the actor deduplicates calls by id.
 */
export class RoutedEngine extends RoutedService<EngineCall, EngineAnswer> implements EngineClient {
  constructor(options: RoutedServiceOptions<EngineCall, EngineAnswer>) {
    super(POLICY, options);
  }
}

const POLICY: RoutingPolicy<EngineCall, EngineAnswer> = {
  routingIdOf,
  timeoutMsOf: () => CALL_TIMEOUT_MS_MAX,
  movingMs: CALL_TIMEOUT_MS_MAX,
  deadlineAtMsOf: ({ deadlineAtMs }) => deadlineAtMs,
  unavailable: 'engine_unavailable',
  isRepeatable: true,
  afterUnknown: (answer) => (answer.isReplayed ? { ...answer, isPerhapsOwn: true } : answer),
  pauseMs: { first: RETRY_PAUSE_MS_MIN, most: RETRY_PAUSE_MS_MAX },
};

/** Commands for an account's directory or feed, or for any engine with the account's instances. */
const OF_ACCOUNT: ReadonlySet<EngineCommand['kind']> = new Set([
  'list',
  'putListingRow',
  'removeListingRow',
  'reservePlace',
  'readSummaries',
  'recordTransitions',
  'readFeed',
  'webhook',
]);

/** Routing id: the account for commands to its directory, otherwise the instance. */
function routingIdOf({ accountId, instanceId, command }: EngineCall): string {
  const { kind } = command;
  return OF_ACCOUNT.has(kind) ? accountId : instanceId;
}

/** Options of routing to limiters. */
export type RoutedLimiterOptions = RoutedServiceOptions<LimiterCall, LimiterAnswer> & {
  /** Maximum duration of an admission over all attempts, in milliseconds; 100 by default. */
  readonly timeoutMs?: number;
};

/**
 * Client for all limiters of a cluster. A call is sent to the owner of its account's meter. Fails
 * closed with `limiter_unavailable` on timeout. Source: architecture 4.
 *
 * A call that may have taken effect is never retried. A second admission would count a second
 * request and join the first admission's reservation.
 */
export class RoutedLimiter
  extends RoutedService<LimiterCall, LimiterAnswer>
  implements LimiterClient
{
  constructor({ timeoutMs = LIMITER_TIMEOUT_MS, ...options }: RoutedLimiterOptions) {
    const timeoutOf = { admit: timeoutMs, settle: SETTLE_MS_MAX, account: ACCOUNT_CALL_MS_MAX };
    const policy: RoutingPolicy<LimiterCall, LimiterAnswer> = {
      routingIdOf: ({ accountId }) => accountId,
      timeoutMsOf: ({ kind }) => timeoutOf[kind],
      movingMs: Math.max(LIMITER_MOVING_MS_MAX, LIMITER_MOVING_STEPS * timeoutMs),
      deadlineAtMsOf: () => Number.POSITIVE_INFINITY,
      unavailable: 'limiter_unavailable',
      isRepeatable: false,
      afterUnknown: (answer) => answer,
      pauseMs: { first: LIMITER_PAUSE_MS_MIN, most: LIMITER_PAUSE_MS_MAX },
    };
    super(policy, options);
  }
}

/** Options of a connection pool. */
type PeerPoolOptions<Call, Answer> = {
  readonly connect: (address: string) => Peer<Call, Answer>;
  /** Addresses that currently own a shard. */
  readonly owners: () => Iterable<string>;
  readonly clock: Clock;
  /** Called when the node at an address accepts calls again. */
  readonly onOpen: (address: string) => void;
};

type Pooled<Call, Answer> = {
  readonly peer: Peer<Call, Answer>;
  /** Incarnation that was last known to answer at the address. */
  incarnation: string | undefined;
  readonly triedSinceMs: number;
  neededAtMs: number;
  isWatched: boolean;
};

/**
 * Pool with one connection per address, opened when its node joins or is called. A connection is
 * closed when its node has owned no shard for 30 s. No call can be using the connection then,
 * because every call is shorter.
 */
class PeerPool<Call, Answer> implements AsyncDisposable {
  readonly #options: PeerPoolOptions<Call, Answer>;
  readonly #peers = new Map<string, Pooled<Call, Answer>>();
  readonly #sweeping: Disposable;

  constructor(options: PeerPoolOptions<Call, Answer>) {
    this.#options = options;
    this.#sweeping = every(options.clock, PEER_SWEEP_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#peers.size;
  }

  /** Connection to `address`, opened if necessary. Undefined if the pool is full. */
  at(address: string, incarnation?: string): Peer<Call, Answer> | undefined {
    return this.#peers.get(address)?.peer ?? this.#connect(address, incarnation);
  }

  /**
   * Connects to a node that was heard at an address, so that its first call finds a connection. An
   * existing connection that is not open is replaced, because its pauses between attempts may have
   * grown. A connection attempt to the same incarnation is kept if it began less than 500 ms ago.
   */
  meet({ address, incarnation }: Pick<ShardOwner, 'incarnation' | 'address'>): void {
    const pooled = this.#peers.get(address);
    if (pooled !== undefined) {
      const isKnown = pooled.incarnation === incarnation;
      pooled.incarnation = incarnation;
      const triedForMs = this.#options.clock.monotonicMs() - pooled.triedSinceMs;
      if (pooled.peer.isOpen || (isKnown && triedForMs < CONNECT_AGAIN_MS)) return;
      this.#drop(address, pooled.peer);
    }
    this.#connect(address, incarnation);
  }

  /**
   * Calls `onOpen` when the node at `address` accepts calls. Does nothing if the node accepts calls
   * already.
   */
  watch(address: string): void {
    const pooled = this.#peers.get(address);
    if (pooled === undefined || pooled.isWatched || pooled.peer.isOpen) return;
    pooled.isWatched = true;
    const settled = (): void => {
      pooled.isWatched = false;
      if (pooled.peer.isOpen) this.#options.onOpen(address);
    };
    pooled.peer.ready().then(settled, settled);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    const peers = [...this.#peers.values()];
    this.#peers.clear();
    await Promise.all(peers.map(({ peer }) => peer[Symbol.asyncDispose]()));
  }

  #connect(address: string, incarnation: string | undefined): Peer<Call, Answer> | undefined {
    if (this.#peers.size >= PEERS_MAX) return undefined;
    const peer = this.#options.connect(address);
    const nowMs = this.#options.clock.monotonicMs();
    this.#peers.set(address, {
      peer,
      incarnation,
      triedSinceMs: nowMs,
      neededAtMs: nowMs,
      isWatched: false,
    });
    return peer;
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const address of this.#options.owners()) {
      const pooled = this.#peers.get(address);
      if (pooled !== undefined) pooled.neededAtMs = nowMs;
    }
    for (const [address, { peer, neededAtMs }] of this.#peers) {
      if (nowMs - neededAtMs < PEER_IDLE_MS) continue;
      this.#drop(address, peer);
    }
  }

  #drop(address: string, peer: Peer<Call, Answer>): void {
    this.#peers.delete(address);
    // Errors while closing have no consequence.
    Promise.resolve(peer[Symbol.asyncDispose]()).catch(() => undefined);
  }
}
