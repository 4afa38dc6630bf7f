import type { AccountNews } from '#accounts/account-news';
import { Fault, toFault } from '#fault/fault';
import { type AccountAdmin, accountAdmin } from '#limiter/account-admin';
import type { LimiterPorts } from '#limiter/compose';
import { LimiterActors, type LimiterConfig } from '#limiter/limiter-actors';
import { ClusterNode, type ClusterNodePorts } from '#node/cluster-node';
import type { NodeConfig, NodeContext } from '#node/incarnation';
import type { Clock } from '#platform/clock';
import {
  type AdminTarget,
  type DrainProgress,
  type MeterUsage,
  NO_INCARNATION,
  type UsageAdmin,
} from '#wire/admin';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#wire/limiter-messages';

/** What a limiter of a cluster needs of its process. */
export type LimiterNodePorts = LimiterPorts &
  Omit<ClusterNodePorts, 'metrics'> & {
    readonly accountNews: AccountNews;
    readonly nodeMetrics: ClusterNodePorts['metrics'];
    /** The admin calls of the limiter at an address. */
    readonly adminAt: (address: string) => UsageAdmin;
  };

/** The meters of one life of the node, and where those of the others are. */
type Served = { readonly actors: LimiterActors; readonly context: NodeContext };

/** A limiter that is one of a cluster: it answers for the accounts whose shards it owns. */
export class LimiterNode implements LimiterClient, AdminTarget, AsyncDisposable {
  /** Id of the cluster that it is one of. */
  readonly cluster: string;
  /** Administration of all accounts, whichever limiter owns them. */
  readonly admin: AccountAdmin;
  readonly #node: ClusterNode<Served>;
  readonly #clock: Clock;
  readonly #listening: Disposable;

  private constructor(node: ClusterNode<Served>, { cluster }: NodeConfig, ports: LimiterNodePorts) {
    this.#node = node;
    this.cluster = cluster;
    this.#clock = ports.clock;
    const { accountNews, onBug, adminAt } = ports;
    const heard = async (accountId: string) => {
      const changed = this.#node.current?.served.actors.accountChanged(accountId);
      // Whoever refuses has it no longer, and whoever has it next reads the account.
      await changed?.catch((error) => (error instanceof Fault ? undefined : onBug(error)));
    };
    this.#listening = accountNews.onChange((accountId) => void heard(accountId));
    this.admin = accountAdmin({
      ...ports,
      announce: async (accountId) => {
        accountNews.announce(accountId);
        // What is here need not wait for the news to come back.
        await heard(accountId);
      },
      usage: (accountId) =>
        this.#askOwner(accountId, adminAt, (owner) => owner.readUsage(accountId)),
      resetUsage: (accountId) =>
        this.#askOwner(accountId, adminAt, (owner) => owner.resetUsage(accountId)),
    });
  }

  /** Joins the cluster; fulfils when its journal has begun. Shards come as others let them. */
  static async join(
    config: LimiterConfig & NodeConfig,
    ports: LimiterNodePorts,
  ): Promise<LimiterNode> {
    const nodePorts = { ...ports, metrics: ports.nodeMetrics };
    const node = await ClusterNode.join(config, nodePorts, (context) => {
      const actors = new LimiterActors(config, { ...ports, ...context });
      return { served: { actors, context }, hosts: actors.hosts, end: () => undefined };
    });
    return new LimiterNode(node, config, ports);
  }

  /** The present life of the node; undefined between two. */
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

  identity(): string {
    return this.#node.current?.id ?? NO_INCARNATION;
  }

  async drain(): Promise<DrainProgress> {
    return this.#node.drain();
  }

  /** Gives all shards up and leaves. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]();
    await this.#node[Symbol.asyncDispose]();
  }

  /** Asks the owner of the account's meter for what only it can tell or do. */
  async #askOwner(
    accountId: string,
    adminAt: LimiterNodePorts['adminAt'],
    ask: (owner: UsageAdmin) => Promise<MeterUsage | undefined>,
  ): Promise<MeterUsage | undefined> {
    const { served, shards } = this.#node.present;
    const { gate, routes } = served.context;
    const shard = gate.shardOf(accountId);
    const owner = routes.ownerOf(shard);
    if (shards.has(shard) || owner === undefined) return await ask(this);
    const askedMs = this.#clock.monotonicMs();
    try {
      return await ask(adminAt(owner.address));
    } catch (error) {
      // It may be the owner only in what somebody has said (decision 136).
      if (toFault(error).code === 'service_unavailable') routes.doubt(shard, askedMs);
      throw error;
    }
  }
}
