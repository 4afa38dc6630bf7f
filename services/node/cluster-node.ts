import { senderMarkOf } from '#bus/sender-key';
import { Fault } from '#fault/fault';
import { REJOIN_MS_MAX, REJOIN_MS_MIN, REJOIN_RESET_MS } from '#node/bounds';
import {
  beginJournal,
  type HostedServices,
  Incarnation,
  type NodeConfig,
  type NodeContext,
  type NodePorts,
} from '#node/incarnation';
import { sleep } from '#platform/clock';
import type { Randomness } from '#platform/randomness';

/** Hexadecimal digits that tell the lives of one process apart. */
const INCARNATION_DIGITS = 12;

/** What a node needs besides what each of its lives does. */
export type ClusterNodePorts = NodePorts & { readonly randomness: Randomness };

/**
 * A node of the cluster through all its lives: one incarnation after another, each with a new id and
 * journal, because one that has been sealed may never come back (architecture 3.1).
 */
export class ClusterNode<Served> implements AsyncDisposable {
  readonly #config: NodeConfig;
  readonly #ports: ClusterNodePorts;
  readonly #hostServices: (context: NodeContext) => HostedServices<Served>;
  #current: Incarnation<Served> | undefined;
  #isClosing = false;
  #isDraining = false;
  #pauseMs = REJOIN_MS_MIN;

  private constructor(
    config: NodeConfig,
    ports: ClusterNodePorts,
    hostServices: (context: NodeContext) => HostedServices<Served>,
  ) {
    this.#config = config;
    this.#ports = ports;
    this.#hostServices = hostServices;
  }

  /** Joins the cluster; fulfils when the first incarnation's journal has begun. */
  static async join<Served>(
    config: NodeConfig,
    ports: ClusterNodePorts,
    hostServices: (context: NodeContext) => HostedServices<Served>,
  ): Promise<ClusterNode<Served>> {
    const node = new ClusterNode(config, ports, hostServices);
    await node.#live();
    return node;
  }

  /** The present incarnation; undefined between two. */
  get current(): Incarnation<Served> | undefined {
    return this.#current;
  }

  /** The present incarnation. Throws `service_unavailable` between two. */
  get present(): Incarnation<Served> {
    if (this.#current !== undefined) return this.#current;
    throw new Fault('service_unavailable', 'this node is joining again', {
      reason: `${this.#config.service}_unavailable`,
      retryAfterS: 1,
    });
  }

  /**
   * Begins to give all shards to others and takes none until the process ends. Answers who does and
   * how many shards it has. Throws `conflict` when nobody else is there, and as `present`. A drained
   * life that is ended by others is the last one.
   */
  drain(): { readonly incarnation: string; readonly openShards: number } {
    const { present } = this;
    present.drain();
    this.#isDraining = true;
    return { incarnation: present.id, openShards: present.shards.size };
  }

  /** Gives all shards up and leaves. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#current?.leave();
    this.#current = undefined;
  }

  async #live(): Promise<void> {
    const { clock } = this.#ports;
    const id = this.#newId();
    await beginJournal(id, this.#config, this.#ports, () => this.#isClosing);
    if (this.#isClosing) return;
    const incarnation = new Incarnation(id, this.#config, this.#ports, this.#hostServices);
    this.#current = incarnation;
    const bornMs = clock.monotonicMs();
    incarnation.fenced
      .then((why) => this.#rejoin(why, bornMs))
      .catch((error: unknown) => this.#ports.onBug(error));
  }

  /** Another one for every life. Where the bus tells senders apart it begins with the mark of ours. */
  #newId(): string {
    const { bus, randomness } = this.#ports;
    if (bus.incarnation === undefined) return randomness.hex(16);
    return `${senderMarkOf(bus.incarnation)}${randomness.hex(INCARNATION_DIGITS)}`;
  }

  async #rejoin(why: Error, bornMs: number): Promise<void> {
    const { clock, metrics, onNotice } = this.#ports;
    this.#current = undefined;
    if (this.#isOver) return;
    if (clock.monotonicMs() - bornMs > REJOIN_RESET_MS) this.#pauseMs = REJOIN_MS_MIN;
    metrics.fenced();
    onNotice(`this node has ended and joins again in ${this.#pauseMs} ms: ${why.message}`);
    await sleep(clock, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, REJOIN_MS_MAX);
    if (!this.#isOver) await this.#live();
  }

  get #isOver(): boolean {
    return this.#isClosing || this.#isDraining;
  }
}
