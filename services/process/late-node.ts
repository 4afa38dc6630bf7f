import { Fault } from '#fault/fault';
import type { ShardedService } from '#storage/shard-store';
import { type DrainProgress, NOBODY, type NodeTools } from '#wire/node-tools';

/**
 * A node that is not there yet: its server must listen before it can join, because its address is
 * part of what it joins with. Until it begins every call is refused as unavailable.
 */
export class LateNode<Client, Tools extends object> implements NodeTools {
  readonly #service: ShardedService;
  #client: Client | undefined;
  #tools: (Tools & NodeTools) | undefined;

  constructor(service: ShardedService) {
    this.#service = service;
  }

  /** From now on calls go to `client`, which is one of no cluster. */
  begin(client: Client): void {
    this.#client = client;
  }

  /** From now on calls go to `node`, and so do operators' questions. */
  beginNode(node: Client & Tools & NodeTools): void {
    this.#client = node;
    this.#tools = node;
  }

  /** Whom calls go to. Throws `service_unavailable` while there is nobody. */
  get client(): Client {
    if (this.#client !== undefined) return this.#client;
    throw new Fault('service_unavailable', `this ${this.#service} is not ready`, {
      reason: `${this.#service}_unavailable`,
      retryAfterS: 1,
    });
  }

  /** Whom operators ask. Throws `service_unavailable` while there is nobody. */
  get tools(): Tools & NodeTools {
    if (this.#tools !== undefined) return this.#tools;
    const text = `this ${this.#service} is none of a cluster, or not yet`;
    throw new Fault('service_unavailable', text);
  }

  identity(): string {
    return this.#tools?.identity() ?? NOBODY;
  }

  async drain(): Promise<DrainProgress> {
    return await this.tools.drain();
  }
}
