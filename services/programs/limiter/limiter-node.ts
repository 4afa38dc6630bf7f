import type { AccountNews } from '#accounts/account';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { AuditTrail } from '#audit/trail';
import type { BillingDesk } from '#billing/billing-desk';
import { Fault, toFault } from '#errors/fault';
import {
  type AdminTarget,
  type DrainProgress,
  type MeterUsage,
  NO_INCARNATION,
  type NodeLoad,
  type UsageAdmin,
} from '#grpc/admin';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#grpc/limiter-messages';
import { LimiterActors, type LimiterConfig } from '#limiter/actors';
import { type AccountAdmin, accountAdmin } from '#limiter/admin/accounts';
import { AccountCalls } from '#limiter/calls';
import { KeyUses } from '#limiter/keys/uses';
import {
  beginUnrecorded,
  endUnrecorded,
  type UnrecordedReads,
} from '#limiter/meter/unrecorded-reads';
import { ClusterNode, type ClusterNodePorts } from '#shards/cluster-node';
import type { HostedServices, NodeConfig, NodeContext } from '#shards/node-context';
import type { Randomness } from '#stdlib/randomness';
import type { AccountStore, KeyUseStore } from '#storage/ports/accounts';
import type { DirtyFlag } from '#storage/ports/cluster';
import type { Journal } from '#storage/ports/journal';
import type { MeterStore, MonthStore } from '#storage/ports/meters';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';

/** A limiter's cluster membership and meter bounds. */
type LimiterNodeConfig = { readonly node: NodeConfig; readonly limiter: LimiterConfig };

type LimiterNodePorts = {
  readonly limiter: LimiterPorts & { readonly accountNews: AccountNews };
  readonly node: ClusterNodePorts;
  /** Admin client for the limiter at an address. */
  readonly adminAt: (address: string) => UsageAdmin;
};

/** An incarnation's meters and its routes to other limiters. */
type Served = { readonly actors: LimiterActors; readonly context: NodeContext };

/**
 * A limiter in a cluster. Decides for the accounts whose shards the limiter owns. Before joining
 * and while rejoining, refuses every call with `service_unavailable`.
 */
export class LimiterNode implements LimiterClient, AdminTarget, AsyncDisposable {
  /** Cluster id. */
  readonly cluster: string;
  /** Administers all accounts, including other limiters' accounts. */
  readonly admin: AccountAdmin;
  readonly audit: AuditTrail;
  readonly #node: ClusterNode<Served>;
  readonly #ports: LimiterNodePorts;
  readonly #listening: Disposable;
  /** Records the uses of keys. All incarnations share this object. */
  readonly #keyUses: KeyUses;
  /**
   * Admits reads while no record can be written. `join` sets this field if there is a `dirtyFlag`.
   * All incarnations share this object.
   */
  #unrecorded: UnrecordedReads | undefined;

  constructor(config: LimiterNodeConfig, ports: LimiterNodePorts) {
    this.cluster = config.node.cluster;
    this.#ports = ports;
    this.audit = ports.limiter.audit;
    this.#node = new ClusterNode(config.node, ports.node, (context) =>
      this.#hostMeters(config.limiter, context),
    );
    const { accounts, meters: months, keyUses, accountNews, clock, randomness } = ports.limiter;
    this.#keyUses = new KeyUses(keyUses, clock);
    this.#listening = accountNews.onChange((accountId, memberId) => {
      if (memberId === undefined) void this.#heard(accountId);
    });
    this.admin = accountAdmin({
      accounts,
      keyUses,
      months,
      clock,
      randomness,
      announce: async (accountId) => {
        accountNews.announce(accountId);
        // Update the local meter directly, without waiting for the announcement.
        await this.#heard(accountId);
      },
      usage: (accountId) => this.#askOwner(accountId, (owner) => owner.readUsage(accountId)),
      resetUsage: (accountId) => this.#askOwner(accountId, (owner) => owner.resetUsage(accountId)),
    });
  }

  /**
   * Joins at `address`; resolves when the journal exists. Shards arrive later, as other nodes
   * release them.
   */
  async join(address: string): Promise<void> {
    const { dirtyFlag, clock } = this.#ports.limiter;
    if (dirtyFlag !== undefined) this.#unrecorded = await beginUnrecorded(dirtyFlag, clock);
    await this.#node.join(address);
  }

  /** The node's present incarnation; undefined before joining and between two incarnations. */
  get incarnation() {
    return this.#node.current;
  }

  ask(call: LimiterCall): LimiterAnswer | Promise<LimiterAnswer> {
    return this.#node.present.served.actors.ask(call);
  }

  async readUsage(accountId: string): Promise<MeterUsage | undefined> {
    return await this.#node.present.served.actors.usage(accountId);
  }

  async resetUsage(accountId: string): Promise<MeterUsage | undefined> {
    return await this.#node.present.served.actors.resetUsage(accountId);
  }

  async readLoad(): Promise<NodeLoad> {
    const { id, served } = this.#node.present;
    return { incarnation: id, ...served.actors.load };
  }

  identity(): string {
    return this.#node.current?.id ?? NO_INCARNATION;
  }

  async drain(): Promise<DrainProgress> {
    return this.#node.drain();
  }

  /** Releases all shards and leaves the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]();
    await using _keyUses = this.#keyUses;
    await this.#node[Symbol.asyncDispose]();
    const { dirtyFlag, clock } = this.#ports.limiter;
    if (dirtyFlag === undefined || this.#unrecorded === undefined) return;
    await endUnrecorded(this.#unrecorded, dirtyFlag, clock);
  }

  /**
   * Makes the meter of a changed account read the account again. Does nothing if the meter is not in
   * memory here.
   */
  async #heard(accountId: string): Promise<void> {
    const changed = this.#node.current?.served.actors.accountChanged(accountId);
    // A meter that refuses is being deactivated. Its next activation reads the account.
    await changed?.catch((error) =>
      error instanceof Fault ? undefined : this.#ports.limiter.onBug(error),
    );
  }

  /** Calls the account's owner, for calls that only the owner can answer. */
  async #askOwner(
    accountId: string,
    ask: (owner: UsageAdmin) => Promise<MeterUsage | undefined>,
  ): Promise<MeterUsage | undefined> {
    const { served, shards } = this.#node.present;
    const { gate, routes } = served.context;
    const shard = gate.shardOf(accountId);
    const owner = routes.ownerOf(shard);
    if (shards.has(shard) || owner === undefined) return await ask(this);
    const askedMs = this.#ports.limiter.clock.monotonicMs();
    try {
      return await ask(this.#ports.adminAt(owner.address));
    } catch (error) {
      // The route may be outdated, because owners come from announcements (decision 136).
      if (toFault(error).code === 'service_unavailable') routes.doubt(shard, askedMs);
      throw error;
    }
  }

  #hostMeters(config: LimiterConfig, context: NodeContext): HostedServices<Served> {
    const { limiter, node } = this.#ports;
    const { log, gate } = context;
    this.#unrecorded?.recordTo(log, limiter.clock.monotonicMs());
    const actors = new LimiterActors(config, {
      accounts: limiter.accounts,
      meters: limiter.meters,
      accountCalls: new AccountCalls(limiter.audit, limiter.billingDesk),
      keyUses: this.#keyUses,
      clock: limiter.clock,
      metrics: limiter.metrics,
      log,
      gate,
      unrecorded: this.#unrecorded,
      clocks: node.clocks,
      onBug: limiter.onBug,
      tracer: limiter.tracer,
    });
    return { served: { actors, context }, hosts: actors.hosts, end: () => undefined };
  }
}

/** Ports of a limiter that every storage back end provides. */
type LimiterPorts = ProcessPorts & {
  readonly accounts: AccountStore;
  readonly meters: MeterStore & MonthStore;
  readonly audit: AuditTrail;
  readonly keyUses: KeyUseStore;
  /**
   * Durable flag: reads may have been admitted without a record (decision 277). Only if a single
   * process uses the data. Undefined: the limiter admits no read without a record.
   */
  readonly dirtyFlag?: DirtyFlag | undefined;
  /** Sells plans; undefined: this service sells no plans. */
  readonly billingDesk?: BillingDesk | undefined;
  /** Announces changed accounts to other processes; undefined: there are no other processes. */
  readonly accountNews: AccountNews | undefined;
  readonly randomness: Randomness;
  readonly metrics: Metrics;
};

/** A limiter: admission checks and account administration. */
export type Limiter = AsyncDisposable & {
  readonly client: LimiterClient;
  readonly admin: AccountAdmin;
  readonly audit: AuditTrail;
  /** The actors' memory use, and the call count. */
  readonly load: () => LimiterActors['load'];
};

/** Builds a single limiter in memory. No state survives a crash. */
export function composeLimiter(
  config: LimiterConfig,
  ports: LimiterPorts & { readonly journal: Journal },
): Limiter {
  const { accounts, meters, keyUses, accountNews, clock, randomness } = ports;
  const { metrics, onBug, tracer } = ports;
  const opened = new AsyncDisposableStack();
  const noted = opened.use(new KeyUses(keyUses, clock));
  const actors = new LimiterActors(config, {
    accounts,
    meters,
    accountCalls: new AccountCalls(ports.audit, ports.billingDesk),
    keyUses: noted,
    clock,
    metrics,
    log: new CommitLog(ports.journal, clock),
    gate: ONE_SHARD,
    onBug,
    tracer,
  });
  opened.use(actors);
  return {
    client: actors,
    audit: ports.audit,
    load: () => actors.load,
    admin: accountAdmin({
      accounts,
      keyUses,
      months: meters,
      clock,
      randomness,
      announce: async (accountId) => {
        accountNews?.announce(accountId);
        await actors.accountChanged(accountId);
      },
      usage: (accountId) => actors.usage(accountId),
      resetUsage: (accountId) => actors.resetUsage(accountId),
    }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
