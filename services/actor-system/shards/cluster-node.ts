import { senderMarkOf } from '#bus/sender-key';
import { faultFor } from '#errors/fault';
import { buildIncarnation, type Incarnation } from '#shards/incarnation';
import {
  APPEND_RETRY_MS,
  REJOIN_MS_MAX,
  REJOIN_MS_MIN,
  REJOIN_RESET_MS,
} from '#shards/journal-bounds';
import type { HostServices, NodeConfig, NodePorts } from '#shards/node-context';
import { sleep } from '#stdlib/clock';
import type { Randomness } from '#stdlib/randomness';

/** Hexadecimal digits that distinguish the incarnations of one process. */
const INCARNATION_DIGITS = 12;

/** Dependencies of a node, and the randomness for incarnation ids. */
export type ClusterNodePorts = NodePorts & { readonly randomness: Randomness };

/**
 * A node of the cluster. After joining, the node runs one incarnation after another. Each
 * incarnation has a new id and journal, because a sealed journal is never reopened (architecture
 * 3.1).
 */
export class ClusterNode<Served> implements AsyncDisposable {
  readonly #config: NodeConfig;
  readonly #ports: ClusterNodePorts;
  readonly #hostServices: HostServices<Served>;
  #current: Incarnation<Served> | undefined;
  #isClosing = false;
  #isDraining = false;
  #pauseMs = REJOIN_MS_MIN;

  constructor(config: NodeConfig, ports: ClusterNodePorts, hostServices: HostServices<Served>) {
    this.#config = config;
    this.#ports = ports;
    this.#hostServices = hostServices;
  }

  /**
   * Joins the cluster. Other nodes reach this node at `address`. Fulfils when the journal of the
   * first incarnation has begun. May be called only once.
   */
  async join(address: string): Promise<void> {
    await this.#begin(address);
  }

  /** Current incarnation. Undefined before the node joins and between two incarnations. */
  get current(): Incarnation<Served> | undefined {
    return this.#current;
  }

  /** Current incarnation. Throws `service_unavailable` when there is none. */
  get present(): Incarnation<Served> {
    if (this.#current !== undefined) return this.#current;
    const reason = `${this.#config.service}_unavailable` as const;
    throw faultFor(reason, 'this node is joining its cluster', { retryAfterS: 1 });
  }

  /**
   * Starts handing all shards to other nodes and accepts none until the process ends. Returns the
   * incarnation's id and its number of open shards. Throws `conflict` when there is no other node,
   * and `service_unavailable` like `present`. A drained incarnation that is fenced does not rejoin.
   */
  drain(): { readonly incarnation: string; readonly openShards: number } {
    const { present } = this;
    present.drain();
    this.#isDraining = true;
    return { incarnation: present.id, openShards: present.shards.size };
  }

  /** Gives up all shards and leaves the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#current?.leave();
    this.#current = undefined;
  }

  async #begin(address: string): Promise<void> {
    const { name, ...config } = this.#config;
    const incarnation = this.#newId();
    await this.#beginJournal(incarnation, address);
    if (this.#isClosing) return;
    const begunMs = this.#ports.clock.monotonicMs();
    const current = buildIncarnation(
      { ...config, incarnation, node: name ?? address, address },
      this.#ports,
      this.#hostServices,
    );
    this.#current = current;
    current.fenced
      .then((why) => this.#rejoin(address, why, begunMs))
      .catch((error: unknown) => this.#ports.onBug(error));
  }

  /**
   * Begins the journal of an incarnation. Retries until the store answers or the node closes. An
   * earlier attempt without an answer may have begun the journal, so an empty, unsealed journal of
   * this address is accepted too. Throws an Error when another node has the id.
   */
  async #beginJournal(id: string, address: string): Promise<void> {
    const { journals, clock } = this.#ports;
    while (!this.#isClosing) {
      const begun = await journals.begin(id, address).catch(() => undefined);
      if (begun?.isApplied) return;
      const head = begun?.head;
      if (head?.address === address && head.next === 0 && !head.isSealed) return;
      if (begun !== undefined)
        throw new Error(`the journal of ${id} already exists and belongs to another node`);
      await sleep(clock, APPEND_RETRY_MS);
    }
  }

  /**
   * New id for an incarnation. On a signed bus the id begins with the sender mark of the process.
   */
  #newId(): string {
    const { bus, randomness } = this.#ports;
    if (bus.incarnation === undefined) return randomness.hex(16);
    return `${senderMarkOf(bus.incarnation)}${randomness.hex(INCARNATION_DIGITS)}`;
  }

  async #rejoin(address: string, why: Error, begunMs: number): Promise<void> {
    const { clock, metrics, logger } = this.#ports;
    this.#current = undefined;
    if (this.#isOver) return;
    if (clock.monotonicMs() - begunMs > REJOIN_RESET_MS) this.#pauseMs = REJOIN_MS_MIN;
    metrics.fenced();
    logger.warn(
      { why: why.message, pauseMs: this.#pauseMs },
      'this node was fenced; it rejoins after a pause',
    );
    await sleep(clock, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, REJOIN_MS_MAX);
    if (!this.#isOver) await this.#begin(address);
  }

  get #isOver(): boolean {
    return this.#isClosing || this.#isDraining;
  }
}
