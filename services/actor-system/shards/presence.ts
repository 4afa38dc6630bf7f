import type { ClockWatch } from '#cluster/clocks';
import type { SelfReport } from '#cluster/membership';
import type { OpenShards } from '#shards/hosted-shards';

/** Facts about an incarnation that do not change. */
type PresenceFacts = {
  readonly node: string;
  readonly incarnation: string;
  readonly address: string;
  readonly startedAtMs: number;
  readonly shardCount: number;
  readonly release?: string | undefined;
  readonly features?: readonly string[] | undefined;
};

/** Heartbeat content of an incarnation. */
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

  /** Whether the incarnation is handing off its shards. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Announces with the next heartbeat that the incarnation hands off its shards. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Content of the next heartbeat. */
  report(): SelfReport {
    return {
      ...this.#facts,
      isLeaving: this.#isLeaving,
      isAside: this.#clocks?.isAside,
      shards: [...this.#open.epochs],
    };
  }
}
