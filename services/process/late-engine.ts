import { Fault } from '#fault/fault';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';
import type { DrainProgress, EngineTools, InspectedInstance } from '#wire/engine-tools';

/** One life of a node. */
type Named = { readonly id: string };

/** What `identify` says of a process that is nobody in particular at the moment. */
const NOBODY = 'nobody';

/**
 * An engine that is not there yet: its server must listen before it can join, because its address
 * is part of what it joins with. Until `begin` every call is refused as `engine_unavailable`.
 */
export class LateEngine implements EngineClient, EngineTools {
  #engine: EngineClient | undefined;
  #node: (EngineTools & { readonly incarnation: Named | undefined }) | undefined;

  /** From now on calls go to `engine`, which is one of no cluster. */
  begin(engine: EngineClient): void {
    this.#engine = engine;
  }

  /** From now on calls go to `node`, and so do operators' questions. */
  beginNode(node: EngineClient & EngineTools & { readonly incarnation: Named | undefined }): void {
    this.#engine = node;
    this.#node = node;
  }

  /** The incarnation that answers here, for proof that another one is dead. */
  get identity(): string {
    return this.#node?.incarnation?.id ?? NOBODY;
  }

  async inspect(instanceId: string): Promise<InspectedInstance> {
    return await this.#tools.inspect(instanceId);
  }

  async drain(): Promise<DrainProgress> {
    return await this.#tools.drain();
  }

  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    if (this.#engine !== undefined) return this.#engine.ask(call);
    throw new Fault('service_unavailable', 'this engine is not ready', {
      reason: 'engine_unavailable',
      retryAfterS: 1,
    });
  }

  get #tools(): EngineTools {
    if (this.#node !== undefined) return this.#node;
    throw new Fault('service_unavailable', 'this engine is none of a cluster, or not yet');
  }
}
