import type { JournalFlaw } from '#test/simulation/faults/journal-flaws';
import type { CheckpointFlaws } from '#test/simulation/simulated/actor-stores';
import type { ShardFlaws } from '#test/simulation/simulated/shards';

/** Deliberate flaws at the ports of a run, to prove that the checks detect them. */
export type Flaws = {
  readonly checkpoints?: CheckpointFlaws;
  readonly journals?: JournalFlaw;
  readonly shards?: ShardFlaws;
};

/** Correct stores. */
export const FLAWLESS: Flaws = {};
