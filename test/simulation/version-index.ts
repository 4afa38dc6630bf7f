import { etagOf } from '#engine/instance/etag';
import type { Call, History } from '#test/simulation/history';

/** A call whose answer named the version it rests on. */
export type Versioned = { readonly call: Call; readonly version: number };

/** A check that failed: what it found, in one line, with the calls' ids. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Versions to look at for an ETag beyond what the calls could have made. */
const SLACK = 8;

/** Whether a call changes something when it is carried out. */
export function isWrite({ requested }: Call): boolean {
  return requested.kind !== 'read' && requested.kind !== 'readHistory' && requested.kind !== 'list';
}

/** Whether a call has changed something, as its answer says. */
export function isAcknowledged({ outcome }: Call): boolean {
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

/** What an instance's calls were and which versions they were answered with. */
export class VersionIndex {
  readonly #calls = new Map<string, Call[]>();
  readonly #etags = new EtagBook();

  constructor({ calls }: Pick<History, 'calls'>) {
    for (const call of calls) {
      if (call.instance === '') continue;
      const list = this.#calls.get(call.instance) ?? [];
      list.push(call);
      this.#calls.set(call.instance, list);
    }
  }

  /** The instances that anybody has asked for. */
  get instances(): readonly string[] {
    return [...this.#calls.keys()];
  }

  /** The calls on an instance, in the order in which they began. */
  of(instance: string): readonly Call[] {
    return this.#calls.get(instance) ?? [];
  }

  /** The version that an answer names; undefined when it names none. */
  versionOf({ outcome, instance, id }: Call): number | undefined {
    if (outcome.kind !== 'answered' || outcome.seen.etag === '') return undefined;
    return this.versionOfEtag(instance, outcome.seen.etag, id);
  }

  /** The version that an ETag names. Throws a violation for one that never was. */
  versionOfEtag(instance: string, etag: string, callId: number): number {
    const writes = this.of(instance).filter(isWrite).length;
    const version = this.#etags.versionOf(instance, etag, writes + SLACK);
    if (version === undefined) {
      throw new Violation(`call ${callId} on ${instance}: an ETag of no possible version`);
    }
    return version;
  }
}
