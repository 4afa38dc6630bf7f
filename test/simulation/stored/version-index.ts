import { etagOf } from '#engine/instance/keyed-answers';
import type { Call, History } from '#test/simulation/checks/history';

/** A call with the version in its answer. */
export type Versioned = { readonly call: Call; readonly version: number };

/** A failed check: one line with the finding and the calls' ids. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Extra versions to search for an ETag, beyond the number of calls. */
const SLACK = 8;

/** Whether a call changes state if applied. */
export function isWrite({ requested }: Call): boolean {
  return requested.kind !== 'read' && requested.kind !== 'readHistory' && requested.kind !== 'list';
}

/** Whether the answer confirms that the call changed state. */
export function isAcknowledged({ outcome }: Call): boolean {
  if (outcome.kind === 'answered') return !outcome.seen.isThrottled;
  return outcome.kind === 'superseded';
}

/** Maps ETags to versions by computing the ETags of all versions. */
export class EtagBook {
  readonly #versions = new Map<string, Map<string, number>>();

  /** Version of an ETag, if at most `most`. */
  versionOf(instance: string, etag: string, most: number): number | undefined {
    const versions = this.#versions.get(instance) ?? new Map<string, number>();
    this.#versions.set(instance, versions);
    for (let version = versions.size; version <= most && !versions.has(etag); version += 1) {
      versions.set(etagOf(instance, version), version);
    }
    return versions.get(etag);
  }
}

/** Calls of each instance with their answered versions. */
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

  /** Instances in any call. */
  get instances(): readonly string[] {
    return [...this.#calls.keys()];
  }

  /** Calls on an instance by start time. */
  of(instance: string): readonly Call[] {
    return this.#calls.get(instance) ?? [];
  }

  /** Version in an answer; undefined without one. */
  versionOf({ outcome, instance, id }: Call): number | undefined {
    if (outcome.kind !== 'answered' || outcome.seen.etag === '') return undefined;
    return this.versionOfEtag(instance, outcome.seen.etag, id);
  }

  /** Version of an ETag. Throws a violation if it never existed. */
  versionOfEtag(instance: string, etag: string, callId: number): number {
    const writes = this.of(instance).filter(isWrite).length;
    const version = this.#etags.versionOf(instance, etag, writes + SLACK);
    if (version === undefined) {
      throw new Violation(`call ${callId} on ${instance}: an ETag of no possible version`);
    }
    return version;
  }
}
