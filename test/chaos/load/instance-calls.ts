import { type Call, hasHappened, isWrite } from '#test/chaos/load/call-log';
import { EtagBook } from '#test/simulation/stored/version-index';

/** The search for an ETag covers one version per write, and this number of further versions. */
const SLACK = 8;

/** Index of the calls on one instance. */
export class InstanceCalls {
  readonly instance: string;
  /** All calls, ordered by start time. */
  readonly calls: readonly Call[];
  readonly writes: readonly Call[];
  readonly create: Call | undefined;
  readonly #versions = new Map<number, number | undefined>();

  constructor(instance: string, calls: readonly Call[]) {
    this.instance = instance;
    this.calls = calls;
    this.writes = calls.filter(isWrite);
    this.create = calls.find(({ requested }) => requested.kind === 'create');
    const etags = new EtagBook();
    for (const { id, outcome } of calls) {
      if (!('etag' in outcome) || outcome.etag === '') continue;
      const most = this.writes.length + SLACK;
      this.#versions.set(id, etags.versionOf(instance, outcome.etag, most));
    }
  }

  /** Acknowledged calls of one kind. */
  happened(kind: Call['requested']['kind']): Call[] {
    return this.writes.filter((call) => call.requested.kind === kind && hasHappened(call));
  }

  /** Calls of one kind with unknown outcome. */
  unknown(kind: Call['requested']['kind']): Call[] {
    return this.writes.filter(
      ({ requested, outcome }) => requested.kind === kind && outcome.kind === 'unknown',
    );
  }

  /** Version in the answer; undefined without an ETag, or if the ETag matches no version. */
  versionOf({ id }: Call): number | undefined {
    return this.#versions.get(id);
  }

  /** Calls whose answered ETag matches no version. */
  get strangers(): Call[] {
    return this.calls.filter(({ id }) => this.#versions.has(id) && !this.#versions.get(id));
  }
}
