import { Fault, type FaultOptions, type ShardOwner } from '#errors/fault';
import type { EngineAnswer, EngineCall, EngineCommand } from '#grpc/engine-messages';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import { inProcessPeer, type Peer } from '#routing/peer';
import type { RetryReason } from '#routing/retry-policy';
import {
  RoutedEngine,
  RoutedLimiter,
  type RoutedLimiterOptions,
  type Routes,
} from '#routing/routed-service';
import { type Clock, systemClock } from '#stdlib/clock';
import { plainCall } from '#test/support/calls/engine-calls';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** Shards of the fake cluster. The last digit of an id is its shard. */
export const SHARDS = 8;

/** The shard that an id's last digit names. */
export const shardOf = (id: string): number => Number(id.at(-1)) % SHARDS;

/** Call to an engine. `change` replaces the fields under test. */
export function callOf(clock: Clock, change: Partial<EngineCall> = {}): EngineCall {
  const command: EngineCommand = { kind: 'readSnapshot' };
  return plainCall({
    accountId: 'acct_1',
    instanceId: 'inst_0',
    callId: 7,
    deadlineAtMs: clock.wallMs() + 10_000,
    command,
    ...change,
  });
}

/** A refusal that routing retries. */
export function passing(
  reason: Exclude<RetryReason, 'no_owner'>,
  options: FaultOptions = {},
): Fault {
  return new Fault('service_unavailable', 'not now', { reason, ...options });
}

/** The owner of a shard at an address with the same name. */
export function ownerAt(address: string, epoch = 1): ShardOwner {
  return { incarnation: `inc_${address}`, address, epoch };
}

/**
 * Ports of a router over real connections. `owners` is its routing table, and `retries` has the
 * reasons of its retries.
 */
export function realRouting() {
  const owners = new FakeOwners();
  const retries: RetryReason[] = [];
  const ports = {
    routes: owners,
    shardCount: SHARDS,
    shardOf,
    clock: systemClock,
    random: Math.random,
    onRetry: (reason: RetryReason) => void retries.push(reason),
  };
  return { owners, retries, ports };
}

type OwnerListener = (shard: number, owner: ShardOwner) => void;

/** The routing table as in a cluster: the highest epoch wins. */
export class FakeOwners implements Routes {
  readonly #owners = new Map<number, ShardOwner>();
  readonly #listeners = new Set<OwnerListener>();
  readonly #joinedListeners = new Set<
    (node: Pick<ShardOwner, 'incarnation' | 'address'>) => void
  >();
  /** Every reported doubt, in order. */
  readonly doubted: { shard: number; askedMs: number }[] = [];

  ownerOf(shard: number): ShardOwner | undefined {
    return this.#owners.get(shard);
  }

  learn(shard: number, owner: ShardOwner): boolean {
    if (owner.epoch <= (this.#owners.get(shard)?.epoch ?? 0)) return false;
    this.#owners.set(shard, owner);
    for (const listener of this.#listeners) listener(shard, owner);
    return true;
  }

  doubt(shard: number, askedMs: number): void {
    this.doubted.push({ shard, askedMs });
  }

  onChange(listener: OwnerListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  onJoined(listener: (node: Pick<ShardOwner, 'incarnation' | 'address'>) => void): Disposable {
    this.#joinedListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#joinedListeners.delete(listener) };
  }

  join(node: Pick<ShardOwner, 'incarnation' | 'address'>): void {
    for (const listener of this.#joinedListeners) listener(node);
  }

  /** Number of listeners. */
  get listenerCount(): number {
    return this.#listeners.size + this.#joinedListeners.size;
  }
}

/** A connection that a test opens and closes. */
class FakePeer {
  readonly address: string;
  isOpen = true;
  isDisposed = false;
  #opening = Promise.withResolvers<void>();

  constructor(address: string) {
    this.address = address;
    this.#opening.promise.catch(() => undefined);
  }

  open(): void {
    this.isOpen = true;
    this.#opening.resolve();
  }

  lose(): void {
    this.isOpen = false;
    this.#opening = Promise.withResolvers<void>();
    this.#opening.promise.catch(() => undefined);
  }

  ready(): Promise<void> {
    return this.isOpen ? Promise.resolve() : this.#opening.promise;
  }

  dispose(): void {
    this.isDisposed = true;
    this.#opening.reject(new Error('closed'));
  }
}

/** Reaction of a node to a call: answers, throws a refusal, or does not answer yet. */
type Behaviour<Call, Answer> = (
  call: Call,
  options?: { readonly timeoutMs: number },
) => Answer | Promise<Answer>;

/** An attempt as received by a node. */
type Sent<Call> = {
  readonly address: string;
  readonly call: Call;
  readonly atMs: number;
  /** Time left for the attempt, in milliseconds. Undefined for the full time-out. */
  readonly timeoutMs: number | undefined;
};

/** Nodes of a service by address, and fake connections to the nodes. `sent` records all calls. */
function nodesUnderTest<Call, Answer>(
  unavailable: 'engine_unavailable' | 'limiter_unavailable',
  isOpen: boolean,
) {
  const clock = new ManualClock();
  const owners = new FakeOwners();
  const nodes = new Map<string, Behaviour<Call, Answer>>();
  const peers = new Map<string, FakePeer>();
  const sent: Sent<Call>[] = [];
  const retries: RetryReason[] = [];
  const connect = (address: string): Peer<Call, Answer> => {
    const peer = new FakePeer(address);
    if (!isOpen) peer.lose();
    peers.set(address, peer);
    const ask: Behaviour<Call, Answer> = (call, options) => {
      if (!peer.isOpen) throw passing(unavailable);
      sent.push({ address, call, atMs: clock.monotonicMs(), timeoutMs: options?.timeoutMs });
      const node = nodes.get(address);
      if (node === undefined) throw passing(unavailable);
      return node(call);
    };
    const { askOr } = inProcessPeer({ ask }, clock);
    return {
      ask,
      askOr,
      get isOpen() {
        return peer.isOpen;
      },
      ready: () => peer.ready(),
      [Symbol.asyncDispose]: async () => peer.dispose(),
    };
  };
  const onRetry = (reason: RetryReason) => void retries.push(reason);
  const routing = { routes: owners, shardCount: SHARDS, shardOf, connect, clock, onRetry };
  /** Advances the clock in small steps, and runs all tasks that become due in each step. */
  const pass = async (ms: number, stepMs = 5): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await turnOfEvents();
    }
  };
  const ports = { ...routing, random: () => 1 };
  return { clock, owners, nodes, peers, sent, retries, pass, routing: ports };
}

/** Engines by address, and a router in front of the engines. `sent` records all calls. */
export function clusterUnderTest({ isOpen = true } = {}) {
  const {
    nodes: engines,
    routing,
    ...rest
  } = nodesUnderTest<EngineCall, EngineAnswer>('engine_unavailable', isOpen);
  return { ...rest, engines, routed: new RoutedEngine(routing) };
}

/** Limiters by address, and a router. `change` replaces options. */
export function limitersUnderTest(change: Partial<RoutedLimiterOptions> = {}, isOpen = true) {
  const {
    nodes: limiters,
    routing,
    ...rest
  } = nodesUnderTest<LimiterCall, LimiterAnswer>('limiter_unavailable', isOpen);
  return { ...rest, limiters, routed: new RoutedLimiter({ ...routing, ...change }) };
}
