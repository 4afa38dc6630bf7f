import type { JournalFlaw } from '#test/simulation/faults/journal-flaws';
import type { CheckpointFlaws } from '#test/simulation/simulated/actor-stores';
import type { CourierFlaw } from '#test/simulation/simulated/couriers';
import type { LifelineFlaw } from '#test/simulation/simulated/network';
import type { ShardFlaws } from '#test/simulation/simulated/shards';

/** Deliberate flaws at the ports of a run. Tests prove that the checks detect each flaw. */
export type Flaws = {
  readonly checkpoints?: CheckpointFlaws;
  readonly couriers?: CourierFlaw;
  readonly journals?: JournalFlaw;
  readonly lifelines?: LifelineFlaw;
  readonly shards?: ShardFlaws;
};

/** A run without flaws. */
export const FLAWLESS: Flaws = {};
