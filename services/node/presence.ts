import type { ClockWatch } from '#cluster/clocks';
import type { SelfReport } from '#cluster/membership';
import type { OpenShards } from '#node/open-shards';

/** What an incarnation says of itself, besides what changes. */
type PresenceFacts = {
  readonly node: string;
  readonly incarnation: string;
  readonly address: string;
  readonly startedAtMs: number;
  readonly shardCount: number;
  readonly release?: string | undefined;
};

/** What an incarnation publishes of itself in its heartbeats. */
export class Presence {
  readonly #facts: PresenceFacts;
  readonly #open: OpenShards;
  readonly #clocks: Pick<ClockWatch, 'isAside'> | undefined;
  #isLeaving = false;

  constructor(
    facts: PresenceFacts,
    open: OpenShards,
    clocks: Pick<ClockWatch, 'isAside'> | undefined,
  ) {
    this.#facts = facts;
    this.#open = open;
    this.#clocks = clocks;
  }

  /** Whether the incarnation gives its shards up. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Says from the next heartbeat on that the incarnation gives its shards up. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Everything that the next heartbeat says. */
  report(): SelfReport {
    return {
      ...this.#facts,
      isLeaving: this.#isLeaving,
      isAside: this.#clocks?.isAside,
      shards: [...this.#open.epochs],
    };
  }
}
