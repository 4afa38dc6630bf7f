import { Fault, type FaultOptions, type ShardOwner } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { EnginePeer } from '#routing/engine-peer';
import { inProcessPeer } from '#routing/engine-peer';
import type { OwnerTable } from '#routing/owner-table';
import { type RetryReason, RoutedEngine } from '#routing/routed-engine';
import { ManualClock } from '#test/support/manual-clock';
import type { EngineAnswer, EngineCall, EngineOperation } from '#wire/engine-messages';

/** Shards of the fake cluster. An id ends in its shard's digit. */
export const SHARDS = 8;

/** The shard that an id's last digit names. */
export const shardOf = (id: string): number => Number(id.at(-1)) % SHARDS;

/** A call; `change` replaces what matters to the test. */
export function callOf(clock: Clock, change: Partial<EngineCall> = {}): EngineCall {
  const operation: EngineOperation = { kind: 'readSnapshot' };
  return {
    accountId: 'acct_1',
    instanceId: 'inst_0',
    callId: 7,
    deadlineAtMs: clock.wallMs() + 10_000,
    idempotency: undefined,
    isReplayOnly: false,
    ifMatch: undefined,
    operation,
    ...change,
  };
}

/** The answer whose body is `body`. */
export function answerOf(body: string): EngineAnswer {
  return { body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}

/** A refusal of a kind that routing tries again. */
export function passing(
  reason: 'not_owner' | 'engine_unavailable' | 'shutting_down',
  options: FaultOptions = {},
): Fault {
  return new Fault('service_unavailable', 'not now', { reason, ...options });
}

/** The owner of a shard at an address that is named like it. */
export function ownerAt(address: string, epoch = 1): ShardOwner {
  return { incarnation: `inc_${address}`, address, epoch };
}

/** The table of owners as a cluster keeps it: the highest epoch wins. */
export class FakeOwners implements OwnerTable {
  readonly #owners = new Map<number, ShardOwner>();
  readonly #listeners = new Set<(shard: number) => void>();

  ownerOf(shard: number): ShardOwner | undefined {
    return this.#owners.get(shard);
  }

  learn(shard: number, owner: ShardOwner): void {
    if (owner.epoch <= (this.#owners.get(shard)?.epoch ?? 0)) return;
    this.#owners.set(shard, owner);
    for (const listener of this.#listeners) listener(shard);
  }

  onChange(listener: (shard: number) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** How many listen. */
  get listenerCount(): number {
    return this.#listeners.size;
  }
}

/** What an engine does with a call: answers, refuses by throwing, or keeps it waiting. */
export type Behaviour = (call: EngineCall) => EngineAnswer | Promise<EngineAnswer>;

/** A connection whose opening a test decides. */
export class FakePeer {
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

/** Engines by address, a routed engine in front of them, and everything that was sent. */
export function clusterUnderTest({ isOpen = true } = {}) {
  const clock = new ManualClock();
  const owners = new FakeOwners();
  const engines = new Map<string, Behaviour>();
  const peers = new Map<string, FakePeer>();
  const sent: { address: string; call: EngineCall; atMs: number }[] = [];
  const retries: RetryReason[] = [];
  const connect = (address: string): EnginePeer => {
    const peer = new FakePeer(address);
    if (!isOpen) peer.lose();
    peers.set(address, peer);
    const ask: Behaviour = (call) => {
      if (!peer.isOpen) throw passing('engine_unavailable');
      sent.push({ address, call, atMs: clock.monotonicMs() });
      const engine = engines.get(address);
      if (engine === undefined) throw passing('engine_unavailable');
      return engine(call);
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
  const options = { routes: owners, shardCount: SHARDS, shardOf, connect, clock };
  const onRetry = (reason: RetryReason) => void retries.push(reason);
  const routed = new RoutedEngine({ ...options, random: () => 1, onRetry });
  return { clock, owners, engines, peers, sent, retries, routed };
}
