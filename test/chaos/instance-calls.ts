import { type Call, hasHappened, isWrite } from '#test/chaos/call-log';
import { EtagBook } from '#test/simulation/version-index';

/** Versions to look at for an ETag beyond what the calls could have made. */
const SLACK = 8;

/** The calls on one instance, sorted by what a check asks for. */
export class InstanceCalls {
  readonly instance: string;
  /** In the order in which they began. */
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

  /** Calls of one kind whose caller got an answer that they have happened. */
  happened(kind: Call['requested']['kind']): Call[] {
    return this.writes.filter((call) => call.requested.kind === kind && hasHappened(call));
  }

  /** Calls of one kind of unknown outcome. */
  unknown(kind: Call['requested']['kind']): Call[] {
    return this.writes.filter(
      ({ requested, outcome }) => requested.kind === kind && outcome.kind === 'unknown',
    );
  }

  /** The version that a call's answer names; undefined when it names none. */
  versionOf({ id }: Call): number | undefined {
    return this.#versions.get(id);
  }

  /** Calls whose answer names a version that cannot be. */
  get strangers(): Call[] {
    return this.calls.filter(({ id }) => this.#versions.has(id) && !this.#versions.get(id));
  }
}
