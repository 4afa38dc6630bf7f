import { Fault } from '#fault/fault';
import type { ShardedService } from '#storage/shard-store';
import { type DrainProgress, NO_INCARNATION, type NodeAdmin } from '#wire/admin';

/**
 * A node that is not there yet: its server must listen before it can join, because its address is
 * part of what it joins with. Until it begins every call is refused as unavailable.
 */
export class LateNode<Client, Admin extends object> implements NodeAdmin {
  readonly #service: ShardedService;
  #client: Client | undefined;
  #admin: (Admin & NodeAdmin) | undefined;

  constructor(service: ShardedService) {
    this.#service = service;
  }

  /** From now on calls go to `client`, which is one of no cluster. */
  begin(client: Client): void {
    this.#client = client;
  }

  /** From now on calls go to `node`, and so do operators' questions. */
  beginNode(node: Client & Admin & NodeAdmin): void {
    this.#client = node;
    this.#admin = node;
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
  get admin(): Admin & NodeAdmin {
    if (this.#admin !== undefined) return this.#admin;
    const text = `this ${this.#service} is none of a cluster, or not yet`;
    throw new Fault('service_unavailable', text);
  }

  identity(): string {
    return this.#admin?.identity() ?? NO_INCARNATION;
  }

  async drain(): Promise<DrainProgress> {
    return await this.admin.drain();
  }
}
