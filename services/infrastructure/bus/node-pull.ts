/*
 * Messages of nodes while the bus is away. Each node keeps the messages that it published in the
 * last seconds. A process that has lost the server of the bus pulls these messages from all nodes
 * that it knows, twice a second. So heartbeats, announcements and suspicions still arrive, and
 * nodes can take over shards (architecture 3.3).
 */
import { type Clock, every } from '#stdlib/clock';

/** A message as published, in its envelope. */
type Published = { readonly subject: string; readonly message: Uint8Array };

/**
 * Messages after a position, and the position of the newest message. Positions count the messages
 * of a process, from 1.
 */
export type Pulled = { readonly messages: readonly Published[]; readonly last: number };

/**
 * Asks the node at an address for its messages after a position. Rejects if the node does not
 * answer in time.
 */
export type Pull = (address: string, after: number) => Promise<Pulled>;

/** Time for which a node keeps a message, in milliseconds: five heartbeats. */
const KEPT_MS = 5_000;

/** Maximum age of a message for a process that pulls for the first time, in milliseconds. */
const FIRST_MS = 1_500;

/** Maximum size of all kept messages, in bytes. Two heartbeats with 4,096 shards fit. */
const KEPT_BYTES_MAX = 192 * 1_024;

/** Period of pulling, in milliseconds: half a heartbeat. */
const PULL_MS = 500;

/** Time after the last answer during which messages of nodes count as arriving, in milliseconds. */
const ANSWERED_MS = 1_500;

/** Messages that this process published in the last seconds. */
export class RecentMessages {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #kept: (Published & { readonly position: number; readonly atMs: number })[] = [];
  #bytes = 0;
  #last = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Keeps a message. Drops old messages, and the oldest messages beyond the bound. */
  add(subject: string, message: Uint8Array): void {
    const atMs = this.#clock.monotonicMs();
    this.#last += 1;
    this.#kept.push({ position: this.#last, subject, message, atMs });
    this.#bytes += message.length;
    while (this.#isTooMuch(atMs)) this.#bytes -= this.#kept.shift()?.message.length ?? 0;
  }

  /**
   * Messages after a position. Position 0, or a position of an earlier process: only the messages
   * of the last heartbeat.
   */
  since(position: number): Pulled {
    const isKnown = position > 0 && position <= this.#last;
    const sinceMs = this.#clock.monotonicMs() - FIRST_MS;
    const messages = this.#kept.filter((kept) =>
      isKnown ? kept.position > position : kept.atMs >= sinceMs,
    );
    return { messages, last: this.#last };
  }

  #isTooMuch(nowMs: number): boolean {
    const [oldest] = this.#kept;
    if (oldest === undefined) return false;
    return this.#bytes > KEPT_BYTES_MAX || nowMs - oldest.atMs > KEPT_MS;
  }
}

/** Dependencies of a `NodePull`. */
type NodePullPorts = {
  readonly clock: Clock;
  /** Whether the server of the bus cannot be reached. */
  readonly isAway: () => boolean;
  /** Addresses of the nodes to pull from. */
  readonly addresses: () => Iterable<string>;
  readonly pull: Pull;
  /** Receives each message of the node at an address. */
  readonly receive: (subject: string, message: Uint8Array, address: string) => void;
};

/** Pulls messages from nodes while the server of the bus is away. */
export class NodePull implements Disposable {
  readonly #ports: NodePullPorts;
  readonly #pulling: Disposable;
  /** Position of the last message by address; nodes that are being asked. */
  readonly #positions = new Map<string, number>();
  readonly #asked = new Set<string>();
  #answeredMs = Number.NEGATIVE_INFINITY;

  constructor(ports: NodePullPorts) {
    this.#ports = ports;
    this.#pulling = every(ports.clock, PULL_MS, () => this.#pullAll());
  }

  /** Whether a node has answered in the last 1.5 s. */
  get isAnswered(): boolean {
    return this.#ports.clock.monotonicMs() - this.#answeredMs < ANSWERED_MS;
  }

  [Symbol.dispose](): void {
    this.#pulling[Symbol.dispose]();
  }

  #pullAll(): void {
    const { isAway, addresses } = this.#ports;
    if (!isAway()) {
      this.#positions.clear();
      return;
    }
    for (const address of addresses()) {
      if (!this.#asked.has(address)) void this.#pullFrom(address);
    }
  }

  async #pullFrom(address: string): Promise<void> {
    const { clock, pull, receive } = this.#ports;
    this.#asked.add(address);
    try {
      const { messages, last } = await pull(address, this.#positions.get(address) ?? 0);
      this.#answeredMs = clock.monotonicMs();
      this.#positions.set(address, last);
      for (const { subject, message } of messages) receive(subject, message, address);
    } catch {
      // The node is away too. The next pull asks again.
      this.#positions.delete(address);
    } finally {
      this.#asked.delete(address);
    }
  }
}
