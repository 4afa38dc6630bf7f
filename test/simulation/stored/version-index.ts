import { etagOf } from '#engine/instance/keyed-answers';
import type { Call, History } from '#test/simulation/checks/history';

/** A call with its answered version. */
export type Versioned = { readonly call: Call; readonly version: number };

/** A failed check. The message is one line that names the calls involved. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** The search for an ETag covers one version per write, and this number of further versions. */
const SLACK = 8;

/** Whether a call changes an instance if applied. */
export function isWrite({ requested }: Call): boolean {
  return requested.kind !== 'read' && requested.kind !== 'readHistory' && requested.kind !== 'list';
}

/** Whether the answer confirms that the call was applied. */
export function isAcknowledged({ outcome }: Call): boolean {
  if (outcome.kind === 'answered') return !outcome.seen.isThrottled;
  return outcome.kind === 'superseded';
}

/** Maps ETags to versions by computing the ETag of every version. */
export class EtagBook {
  readonly #versions = new Map<string, Map<string, number>>();

  /** Version of an ETag; undefined if no version up to `most` has the ETag. */
  versionOf(instance: string, etag: string, most: number): number | undefined {
    const versions = this.#versions.get(instance) ?? new Map<string, number>();
    this.#versions.set(instance, versions);
    for (let version = versions.size; version <= most && !versions.has(etag); version += 1) {
      versions.set(etagOf(instance, version), version);
    }
    return versions.get(etag);
  }
}

/** Index of calls by instance, with the answered versions. */
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

  /** Instances of all calls. */
  get instances(): readonly string[] {
    return [...this.#calls.keys()];
  }

  /** Calls on an instance, ordered by start time. */
  of(instance: string): readonly Call[] {
    return this.#calls.get(instance) ?? [];
  }

  /** Version in the answer; undefined without an ETag. Throws a `Violation` for an unknown ETag. */
  versionOf({ outcome, instance, id }: Call): number | undefined {
    if (outcome.kind !== 'answered' || outcome.seen.etag === '') return undefined;
    return this.versionOfEtag(instance, outcome.seen.etag, id);
  }

  /** Version of an ETag. Throws a `Violation` if no version has the ETag. */
  versionOfEtag(instance: string, etag: string, callId: number): number {
    const writes = this.of(instance).filter(isWrite).length;
    const version = this.#etags.versionOf(instance, etag, writes + SLACK);
    if (version === undefined) {
      throw new Violation(`call ${callId} on ${instance}: its ETag matches no version`);
    }
    return version;
  }
}
