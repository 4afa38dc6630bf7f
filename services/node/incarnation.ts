import type { Membership } from '#cluster/membership';
import type { ShardController } from '#cluster/shard-controller';
import { Fault } from '#fault/fault';
import { LEAVE_MS_MAX, MARK_MS_MAX } from '#node/bounds';
import type { HostedShards } from '#node/hosted-shards';
import type { JournalWriter } from '#node/journal-writer';
import type { Presence } from '#node/presence';
import { type Clock, withinMs } from '#platform/clock';
import type { CommitLog } from '#runtime/commit-log';
import type { JournalStore } from '#storage/journal-store';

type IncarnationParts<Served> = {
  readonly served: Served;
  readonly presence: Presence;
  readonly members: Membership;
  readonly shards: HostedShards;
  readonly controller: ShardController;
  readonly writer: JournalWriter;
  readonly journals: JournalStore;
  readonly log: CommitLog;
  readonly clock: Clock;
  /** Everything that ends with the incarnation. */
  readonly opened: DisposableStack;
  readonly onBug: (error: unknown) => void;
};

/**
 * One continuous membership of a node: its journal, its entry in the view, its shards and their
 * actors. It ends when its journal is sealed, or when its process gives everything up (architecture
 * 3).
 */
export class Incarnation<Served> {
  readonly id: string;
  readonly served: Served;
  /** Fulfils with the reason when the incarnation has been fenced. */
  readonly fenced: Promise<Error>;
  readonly #parts: IncarnationParts<Served>;

  constructor(id: string, parts: IncarnationParts<Served>) {
    this.id = id;
    this.served = parts.served;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.fenced = promise;
    parts.writer.onFenced((why) => {
      this.#end();
      resolve(why);
    });
  }

  /** The shards that are served here, with their epochs. */
  get shards(): ReadonlyMap<number, number> {
    return this.#parts.shards.open;
  }

  /**
   * Begins to give every shard to other nodes and takes none from now on; it does not end. Throws
   * `conflict` when there is no other node, because none would answer for the shards then.
   */
  drain(): void {
    const { presence, members, controller, onBug } = this.#parts;
    if (presence.isLeaving) return;
    if (members.present().every(({ incarnation }) => incarnation === this.id)) {
      throw new Fault('conflict', 'there is no other node to take its shards');
    }
    presence.leave();
    members.beat();
    controller.leave().catch(onBug);
  }

  /** Gives every shard up, to other nodes or to the stores, and ends. */
  async leave(): Promise<void> {
    const { presence, members, controller, journals, log, clock } = this.#parts;
    presence.leave();
    members.beat();
    // What is not stored by then is in the journal, for the new owners.
    await controller.leave(LEAVE_MS_MAX);
    members.beat();
    // What is stored by now need not be read again; without an answer it is, which does no harm.
    await withinMs(clock, MARK_MS_MAX, log.mark()).catch(() => undefined);
    // Nothing may ever follow; a store that gives no answer leaves that to the daily scan.
    await journals.seal(this.id).catch(() => undefined);
    this.#end();
  }

  #end(): void {
    this.#parts.shards.end();
    this.#parts.opened.dispose();
  }
}
