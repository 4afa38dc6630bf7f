import type { JournalFlaw } from '#test/simulation/journal-flaws';
import type { CheckpointFlaws } from '#test/simulation/simulated-actor-stores';
import type { ShardFlaws } from '#test/simulation/simulated-shards';

/** What is deliberately broken at the ports of a run, to see that the checks notice. */
export type Flaws = {
  readonly checkpoints?: CheckpointFlaws;
  readonly journals?: JournalFlaw;
  readonly shards?: ShardFlaws;
};

/** The stores as they are. */
export const FLAWLESS: Flaws = {};
