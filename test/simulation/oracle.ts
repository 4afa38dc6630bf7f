import type { JournalRecord } from '#storage/journal';
import type { Append } from '#storage/journal-store';
import type { ShardRow } from '#storage/shard-store';
import type { ActorTables } from '#test/simulation/actor-tables';
import { Violation } from '#test/simulation/version-index';

/** What stands in a journal's tail: the versions of every actor, by the slot that holds them. */
type Tail = { readonly actors: Map<string, Map<number, number>>; lowWaterMark: number };

/**
 * Watches the stores from outside and knows at every moment whether everything ever answered could
 * still be recovered: stored in the head, or standing in the tail of the journal of the shard's
 * owner without a gap. So a fault is found where it happens and not where it is felt.
 */
export class Oracle {
  readonly #tables: ActorTables;
  readonly #shardOf: (id: string) => number;
  readonly #fail: (violation: Violation) => void;
  readonly #owners = new Map<number, string>();
  readonly #tails = new Map<string, Tail>();
  /** The highest version that anybody was answered with. */
  readonly #answered = new Map<string, number>();

  constructor(
    tables: ActorTables,
    shardOf: (id: string) => number,
    fail: (violation: Violation) => void,
  ) {
    this.#tables = tables;
    this.#shardOf = shardOf;
    this.#fail = fail;
  }

  /** A caller was answered with a version. */
  answered(instance: string, version: number): void {
    if (version <= (this.#answered.get(instance) ?? 0)) return;
    this.#answered.set(instance, version);
    this.#look(instance, 'an answer');
  }

  /** A group stands in a journal. */
  appended({ incarnation, slot, lowWaterMark }: Append, records: readonly JournalRecord[]): void {
    const tail = this.#tails.get(incarnation) ?? { actors: new Map(), lowWaterMark: 0 };
    this.#tails.set(incarnation, tail);
    for (const { actor, actorId, version } of records) {
      if (actor !== 'instance') continue;
      const versions = tail.actors.get(actorId) ?? new Map<number, number>();
      tail.actors.set(actorId, versions);
      versions.set(version, slot);
    }
    if (lowWaterMark === undefined || lowWaterMark <= tail.lowWaterMark) return;
    tail.lowWaterMark = lowWaterMark;
    this.#drop(incarnation, tail);
  }

  /** A shard has another owner. */
  changed({ shard, owner }: ShardRow): void {
    this.#owners.set(shard, owner);
    for (const instance of this.#answered.keys()) {
      if (this.#shardOf(instance) === shard) this.#look(instance, `a claim of shard ${shard}`);
    }
  }

  /** A head was written. */
  stored(instance: string): void {
    this.#look(instance, 'a head');
  }

  #drop(incarnation: string, tail: Tail): void {
    for (const [instance, versions] of tail.actors) {
      let hasDropped = false;
      for (const [version, slot] of versions) {
        if (slot >= tail.lowWaterMark) continue;
        versions.delete(version);
        hasDropped = true;
      }
      if (versions.size === 0) tail.actors.delete(instance);
      const isOwner = this.#owners.get(this.#shardOf(instance)) === incarnation;
      if (hasDropped && isOwner)
        this.#look(instance, `low-water mark of ${incarnation} at ${tail.lowWaterMark}`);
    }
  }

  #look(instance: string, when: string): void {
    const answered = this.#answered.get(instance) ?? 0;
    const stored = this.#tables.head(instance)?.version ?? 0;
    const owner = this.#owners.get(this.#shardOf(instance)) ?? '';
    const tail = this.#tails.get(owner)?.actors.get(instance);
    let held = stored;
    while (held < answered && tail?.has(held + 1)) held += 1;
    if (held >= answered) return;
    this.#fail(
      new Violation(
        `${instance}: ${answered} was answered and only ${held} can be recovered after ${when} ` +
          `(head ${stored}, owner ${owner || 'none'} of shard ${this.#shardOf(instance)})`,
      ),
    );
  }
}
