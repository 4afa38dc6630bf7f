import type { AccountNews } from '#accounts/account';
import { digestOf } from '#accounts/api-key';
import type { PlanChoice } from '#accounts/plan';
import type { Bus } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import { signedBus } from '#bus/signed-bus';
import { ClockWatch } from '#cluster/clocks';
import { announcementSubject, encodeAnnouncement } from '#cluster/heartbeat';
import type { Dial } from '#cluster/lifelines';
import { shardOf } from '#cluster/shard-owners';
import { Fault } from '#errors/fault';
import type { UsageAdmin } from '#grpc/admin';
import type { LimiterAnswer } from '#grpc/limiter-messages';
import { LimiterNode } from '#limiter/limiter-node';
import { nodeMetrics } from '#shards/journal-writer';
import { busAccountNews } from '#startup/cluster';
import type { Clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { memoryAccountStore, memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryMeterStore } from '#storage/memory/meters';
import type { ShardStore } from '#storage/ports/cluster';
import type { Logger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { admission, settlement } from '#test/limiter/limiter-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { FakeLifelines } from '#test/support/fake-lifelines';
import { ManualClock } from '#test/support/manual-clock';
import { memoryTrail } from '#test/support/memory-trail';
import { pass } from '#test/support/passing';
import { noteLogger, SILENT } from '#test/support/test-logger';

const SHARDS = 4;

/** An account and its key, independent of the node that owns the meter. */
export type Customer = { readonly id: string; readonly key: string; readonly keyId: string };

/** Limiters with a common store, bus and clock. */
export class LimiterCluster {
  readonly clock = new ManualClock();
  readonly bugs: unknown[] = [];
  /** Whether announcements of account changes are delivered. */
  isHeard = true;
  /** Whether limiters can read the table of shard owners. */
  isTableThere = true;
  /** Milliseconds by which the clock of the store server is ahead. */
  serverAheadMs = 0;
  /** Number of account reads. */
  reads = 0;
  /** Number of limiters that listen to account changes. */
  listeners = 0;
  /** Addresses at which limiters have called each other. */
  readonly askedAt: string[] = [];
  #held: Promise<void> | undefined;
  readonly #journals = memoryJournalStore(this.clock);
  readonly #accounts = memoryAccountStore(this.clock);
  readonly #shards = memoryShardStore();
  readonly #stores = {
    accounts: {
      ...this.#accounts,
      find: async (accountId: string) => {
        this.reads += 1;
        const found = await this.#accounts.find(accountId);
        await this.#held;
        return found;
      },
    },
    meters: memoryMeterStore(),
    keyUses: memoryKeyUseStore(),
    shards: {
      ...this.#shards,
      load: async (...of: Parameters<ShardStore['load']>) => {
        if (!this.isTableThere) throw new Fault('service_unavailable', 'no answer');
        return await this.#shards.load(...of);
      },
    },
    journals: this.#journals,
  };
  readonly #bus = inProcessBus({ clock: this.clock, onBug: (error) => this.bugs.push(error) });
  readonly #nodes = new Map<string, LimiterNode>();
  readonly #clocks = new Map<string, SkewedClock>();
  /** Operator notices of the limiters, each prefixed by the limiter's name. */
  readonly notices: string[] = [];

  /** Adds a limiter whose wall clock is `aheadMs` ahead, and waits until it owns its shards. */
  async join(name: string, aheadMs = 0): Promise<LimiterNode> {
    const address = `${name}:1`;
    const place = { prefix: 'test', cluster: 'c', shardCount: SHARDS };
    const standing = { startupGraceMs: 0, isDirect: true };
    const metrics = createMetrics();
    const clock = new SkewedClock(this.clock, aheadMs);
    this.#clocks.set(name, clock);
    const onBug = (error: unknown) => this.bugs.push(error);
    const logger = noteLogger((notice) => void this.notices.push(`${name}: ${notice}`));
    const bus = this.#signedBus(clock, logger);
    const news = busAccountNews({ ...place, bus });
    const accountNews: AccountNews = {
      isHeard: true,
      announce: (...ids) => this.isHeard && news.announce(...ids),
      onChange: (listener) => {
        const listening = news.onChange(listener);
        this.listeners += 1;
        return {
          [Symbol.dispose]: () => {
            this.listeners -= 1;
            listening[Symbol.dispose]();
          },
        };
      },
    };
    const node = new LimiterNode(
      {
        node: { ...place, ...standing, service: 'limiter', name },
        limiter: { idleAgeMs: 600_000, memoryBytesMax: 1_000_000 },
      },
      {
        limiter: {
          ...{ accounts: this.#stores.accounts, meters: this.#stores.meters, accountNews },
          audit: memoryTrail(clock),
          keyUses: this.#stores.keyUses,
          ...{ clock, randomness: systemRandomness, metrics, onBug },
        },
        node: {
          ...{ journals: this.#stores.journals, shards: this.#stores.shards },
          ...{ clock, randomness: systemRandomness, bus, dial: this.#dial },
          clocks: new ClockWatch({
            ...{ bus, clock, logger, prefix: place.prefix },
            serverClocks: { read: async () => [this.clock.wallMs() + this.serverAheadMs] },
          }),
          ...{ metrics: nodeMetrics(metrics, 'limiter'), onBug, logger: SILENT },
        },
        adminAt: (other) => this.#at(other),
      },
    );
    await node.join(address);
    this.#nodes.set(address, node);
    await this.live(4_000);
    return node;
  }

  /** Publishes a forged, permanent claim to the account's shard, signed with the secret. */
  async forgeClaimTo({ id }: Customer): Promise<void> {
    const place = { cluster: 'c', service: 'limiter', incarnation: 'forger' } as const;
    const claim = { shard: shardOf(id, SHARDS), epoch: Number.MAX_SAFE_INTEGER };
    const announcement = encodeAnnouncement({ ...place, ...claim, address: 'elsewhere:1' });
    const bus = this.#signedBus(this.clock, SILENT);
    bus.publish(announcementSubject('test', 'limiter'), announcement);
    await pass(this.clock, 5, 5);
  }

  /** Steps the wall clock of a limiter. */
  stepWallOf(name: string, byMs: number): void {
    const clock = this.#clocks.get(name);
    if (clock === undefined) throw new Error(`no limiter is named ${name}`);
    clock.aheadMs += byMs;
  }

  /** Creates an account with a full key, through `node`. */
  async customer(node: LimiterNode, choice: PlanChoice): Promise<Customer> {
    const { id } = await node.admin.createAccount({ name: 'a customer', choice });
    const { key, record } = await node.admin.createKey(id, { scope: 'full' });
    return { id, key, keyId: record.id };
  }

  /** Sends an admission to `node`. Rejects if `node` refuses the call. */
  async admit(node: LimiterNode, customer: Customer, callId: number, cycles = 1) {
    return await this.#soon(() => this.ask(node, customer, callId, cycles));
  }

  async settle(node: LimiterNode, customer: Customer, callId: number, used: number) {
    return await this.#soon(() => this.report(node, customer, callId, used));
  }

  /** Like `admit`, but without advancing the clock, for concurrent calls. */
  async ask(node: LimiterNode, { id, key }: Customer, callId: number, cycles = 1) {
    return await node.ask(admission(callId, cycles, digestOf(key), 'full', id));
  }

  /** Like `settle`, but without advancing the clock. */
  async report(node: LimiterNode, { id }: Customer, callId: number, used: number) {
    return await node.ask(settlement(callId, used, id));
  }

  /** Finds the node that owns the account. */
  ownerOf({ id }: Customer): LimiterNode {
    for (const node of this.#nodes.values()) {
      const { incarnation } = node;
      if (incarnation?.shards.has(shardOf(id, SHARDS))) return node;
    }
    throw new Error('no limiter owns the account');
  }

  /** Kills the process of `node`: no timer fires and no message arrives any more. */
  async kill(node: LimiterNode): Promise<void> {
    for (const [address, other] of this.#nodes) {
      if (other !== node) continue;
      this.#nodes.delete(address);
      const clock = this.#clocks.get(address.slice(0, -':1'.length));
      if (clock !== undefined) clock.isStopped = true;
      this.#lifelines.end(address);
    }
    await this.live(12_000);
  }

  /** Seals the journal of `node`, like a takeover. */
  async seal(node: LimiterNode): Promise<void> {
    await this.#journals.seal(node.identity());
  }

  /**
   * Delays the results of reads until the returned function is called. If a failure is passed to
   * this function, the reads fail.
   */
  holdReads(): (failure?: Error) => void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#held = promise;
    return (failure) => {
      this.#held = undefined;
      if (failure === undefined) resolve();
      else reject(failure);
    };
  }

  async live(durationMs: number): Promise<void> {
    await pass(this.clock, durationMs, 50);
  }

  readonly #lifelines = new FakeLifelines();
  readonly #dial: Dial = async (address) => {
    const node = this.#nodes.get(address);
    if (node === undefined) return { kind: 'refused' };
    return this.#lifelines.identified(address, node.identity());
  };

  /** Usage administration at an address. Calls to an address without a limiter fail. */
  #at(address: string): UsageAdmin {
    this.askedAt.push(address);
    const silence = async () => {
      throw new Fault('service_unavailable', `no limiter is at ${address}`);
    };
    return this.#nodes.get(address) ?? { readUsage: silence, resetUsage: silence };
  }

  /** The bus of one more process that has the secret. */
  #signedBus(clock: Clock & { readonly isStopped?: boolean }, logger: Logger): Bus {
    return signedBus({
      ...{
        bus: sharing(this.#bus, clock),
        clock,
        cluster: 'c',
        secrets: unchanging(['the secret of all limiters']),
      },
      ...{ onDropped: () => undefined, logger },
      onBug: (error) => this.bugs.push(error),
    });
  }

  async #soon(ask: () => Promise<LimiterAnswer>): Promise<LimiterAnswer> {
    const answer = Promise.try(ask);
    answer.catch(() => undefined);
    await pass(this.clock, 20, 5);
    return await answer;
  }
}

/** Clock of a process: the wall clock may be wrong, the monotonic clock is exact. */
class SkewedClock implements Clock {
  aheadMs: number;
  /** Whether the process has ended. */
  isStopped = false;
  readonly #true: Clock;

  constructor(clock: Clock, aheadMs: number) {
    this.#true = clock;
    this.aheadMs = aheadMs;
  }

  wallMs(): number {
    return this.#true.wallMs() + this.aheadMs;
  }

  monotonicMs(): number {
    return this.#true.monotonicMs();
  }

  after(delayMs: number, task: () => void): Disposable {
    return this.#true.after(delayMs, () => this.isStopped || task());
  }
}

/** The shared bus as a process uses it, until the process ends. */
function sharing(wire: Bus, process: { readonly isStopped?: boolean }): Bus {
  return {
    isConnected: true,
    publish: (subject, message) => process.isStopped || wire.publish(subject, message),
    subscribe: (subject, listener) =>
      wire.subscribe(subject, (message) => process.isStopped || listener(message)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}
