import { etagOf } from '#engine/etag';
import type { History, Operation } from '#test/simulation/history';

/** An operation whose answer named the version it rests on. */
export type Versioned = { readonly operation: Operation; readonly version: number };

/** A check that failed: what it found, in one line, with the operations' ids. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Versions to look at for an ETag beyond what the operations could have made. */
const SLACK = 8;

/** Whether an operation changes something when it is carried out. */
export function isWrite({ wish }: Operation): boolean {
  return wish.kind !== 'read' && wish.kind !== 'readHistory' && wish.kind !== 'list';
}

/** Whether an operation has changed something, as its caller was told. */
export function isAcknowledged({ outcome }: Operation): boolean {
  if (outcome.kind === 'answered') return !outcome.seen.isThrottled;
  return outcome.kind === 'superseded';
}

/** Which version an ETag names, found by making the ETags of all versions in turn. */
export class EtagBook {
  readonly #versions = new Map<string, Map<string, number>>();

  /** The version, if it is at most `most`. */
  versionOf(instance: string, etag: string, most: number): number | undefined {
    const versions = this.#versions.get(instance) ?? new Map<string, number>();
    this.#versions.set(instance, versions);
    for (let version = versions.size; version <= most && !versions.has(etag); version += 1) {
      versions.set(etagOf(instance, version), version);
    }
    return versions.get(etag);
  }
}

/** What an instance's operations were and which versions they were answered with. */
export class VersionIndex {
  readonly #operations = new Map<string, Operation[]>();
  readonly #etags = new EtagBook();

  constructor({ operations }: Pick<History, 'operations'>) {
    for (const operation of operations) {
      if (operation.instance === '') continue;
      const list = this.#operations.get(operation.instance) ?? [];
      list.push(operation);
      this.#operations.set(operation.instance, list);
    }
  }

  /** The instances that anybody has asked for. */
  get instances(): readonly string[] {
    return [...this.#operations.keys()];
  }

  /** The operations on an instance, in the order in which they began. */
  of(instance: string): readonly Operation[] {
    return this.#operations.get(instance) ?? [];
  }

  /** The version that an answer names; undefined when it names none. */
  versionOf({ outcome, instance, id }: Operation): number | undefined {
    if (outcome.kind !== 'answered' || outcome.seen.etag === '') return undefined;
    return this.versionOfEtag(instance, outcome.seen.etag, id);
  }

  /** The version that an ETag names. Throws a violation for one that never was. */
  versionOfEtag(instance: string, etag: string, operationId: number): number {
    const writes = this.of(instance).filter(isWrite).length;
    const version = this.#etags.versionOf(instance, etag, writes + SLACK);
    if (version === undefined) {
      throw new Violation(
        `operation ${operationId} on ${instance}: an ETag of no possible version`,
      );
    }
    return version;
  }
}
