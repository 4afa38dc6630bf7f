import type { ShardRow } from '#storage/ports/cluster';
import type { InstanceHead } from '#storage/ports/instances';
import type { JournalRecord } from '#storage/ports/journal';
import { Violation } from '#test/simulation/stored/version-index';

/** Returns the oldest head that a quorum read may return. */
type Heads = { head(id: string): Pick<InstanceHead, 'version'> | undefined };

/** Recoverable records of a journal: slot by instance and version. */
type Tail = Map<string, Map<number, number>>;

/**
 * Checks after every change that every answered version is recoverable: from the stored head, or
 * from the head and the gapless journal tail of the shard's owner. Reports a bug when it happens,
 * not when a caller notices.
 */
export class Oracle {
  readonly #heads: Heads;
  readonly #shardOf: (id: string) => number;
  readonly #fail: (violation: Violation) => void;
  readonly #owners = new Map<number, string>();
  readonly #tails = new Map<string, Tail>();
  /** Highest answered version of each instance. */
  readonly #answered = new Map<string, number>();

  constructor(heads: Heads, shardOf: (id: string) => number, fail: (violation: Violation) => void) {
    this.#heads = heads;
    this.#shardOf = shardOf;
    this.#fail = fail;
  }

  /** Call when a caller has received a version. */
  answered(instance: string, version: number): void {
    if (version <= (this.#answered.get(instance) ?? 0)) return;
    this.#answered.set(instance, version);
    this.#look(instance, 'an answer');
  }

  /** Call when records have become recoverable from a journal. */
  appended(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    const actors = this.#tails.get(incarnation) ?? new Map();
    this.#tails.set(incarnation, actors);
    for (const { actor, actorId, version } of records) {
      if (actor !== 'instance') continue;
      const versions = actors.get(actorId) ?? new Map<number, number>();
      actors.set(actorId, versions);
      versions.set(version, slot);
    }
  }

  /** Call when records are no longer recoverable. */
  withdrawn(incarnation: string, slot: number, records: readonly JournalRecord[]): void {
    for (const { actor, actorId, version } of records) {
      if (actor !== 'instance') continue;
      const versions = this.#tails.get(incarnation)?.get(actorId);
      if (versions?.get(version) === slot) versions.delete(version);
      this.#lookAt(actorId, incarnation, `the loss of slot ${slot} of ${incarnation}`);
    }
  }

  /** Call when the slots below `below` have been deleted. */
  truncated(incarnation: string, below: number): void {
    const actors = this.#tails.get(incarnation) ?? new Map();
    for (const [instance, versions] of actors) {
      let hasDropped = false;
      for (const [version, slot] of versions) {
        if (slot >= below) continue;
        versions.delete(version);
        hasDropped = true;
      }
      if (versions.size === 0) actors.delete(instance);
      if (hasDropped)
        this.#lookAt(instance, incarnation, `the truncation of ${incarnation} below slot ${below}`);
    }
  }

  /** Call when a shard has changed its owner. */
  changed({ shard, owner }: ShardRow): void {
    this.#owners.set(shard, owner);
    for (const instance of this.#answered.keys()) {
      if (this.#shardOf(instance) === shard) this.#look(instance, `a claim of shard ${shard}`);
    }
  }

  /** Call when a head has been written. */
  stored(instance: string): void {
    this.#look(instance, 'a head write');
  }

  /** Checks an instance if the journal belongs to its shard's owner. */
  #lookAt(instance: string, incarnation: string, when: string): void {
    if (this.#owners.get(this.#shardOf(instance)) === incarnation) this.#look(instance, when);
  }

  #look(instance: string, when: string): void {
    const answered = this.#answered.get(instance) ?? 0;
    const stored = this.#heads.head(instance)?.version ?? 0;
    const owner = this.#owners.get(this.#shardOf(instance)) ?? '';
    const tail = this.#tails.get(owner)?.get(instance);
    let held = stored;
    while (held < answered && tail?.has(held + 1)) held += 1;
    if (held >= answered) return;
    this.#fail(
      new Violation(
        `${instance}: version ${answered} was answered, but only version ${held} is recoverable ` +
          `after ${when} (stored head: ${stored}, shard: ${this.#shardOf(instance)}, ` +
          `owner: ${owner || 'none'})`,
      ),
    );
  }
}
