import { faultFor, type ShardOwner } from '#fault/fault';
import type { OpenShards } from '#node/open-shards';
import type { RecoveredRecords } from '#node/recovered-records';
import type { RecoveredTail, ShardGate } from '#runtime/shard-gate';

type NodeGateParts = {
  readonly open: OpenShards;
  readonly recovered: RecoveredRecords;
  readonly shardOf: (actorId: string) => number;
  /** The owner of a shard as far as this node knows, to be named in a refusal. */
  readonly ownerOf: (shard: number) => ShardOwner | undefined;
  /** Hears of every call that is refused for it. */
  readonly onNotOwner: () => void;
};

/** The gate of one incarnation: it serves the actors of its open shards. */
export class NodeGate implements ShardGate {
  readonly #parts: NodeGateParts;

  constructor(parts: NodeGateParts) {
    this.#parts = parts;
  }

  shardOf(actorId: string): number {
    return this.#parts.shardOf(actorId);
  }

  assertOpen(shard: number): void {
    if (this.#parts.open.has(shard)) return;
    this.#parts.onNotOwner();
    const owner = this.#parts.ownerOf(shard);
    throw faultFor('not_owner', 'another node owns this shard', { retryAfterS: 1, owner });
  }

  isClosing(shard: number): boolean {
    return this.#parts.open.isClosing(shard);
  }

  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined {
    return this.#parts.recovered.tailOf(shard, actor, actorId);
  }

  activated(shard: number, actor: string, actorId: string): void {
    this.#parts.recovered.activated(shard, actor, actorId);
  }
}
