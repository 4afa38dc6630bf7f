import { LONG, MOVES, RETURNS, ROUGH, type Variant } from '#test/simulation/faults/variant';
import type { ScenarioRequest } from '#test/simulation/scenario';
import { NO_STORE_FAULTS } from '#test/simulation/simulated/store';
import { NO_REPLICA_FAULTS } from '#test/simulation/stored/replicas';

/** Shards return to an earlier owner while an older shard change is still in flight. */
const RESTLESS: ScenarioRequest = {
  ...MOVES,
  count: 30,
  loadMs: 40_000,
  store: { ...NO_STORE_FAULTS, executedLate: 0.15 },
  replicas: NO_REPLICA_FAULTS,
};

/** Flaws in store writes. */
export const STORE_VARIANTS: readonly Variant[] = [
  {
    name: 'shard change that ignores the epoch',
    flaws: { shards: { isEpochIgnored: true } },
    requested: RESTLESS,
  },
  {
    name: 'timed-out claim treated as lost',
    flaws: { shards: { isSilenceLost: true } },
    requested: { ...MOVES, store: { answerLost: 0.15 } },
  },
  {
    name: 'unapplied shard change treated as lost',
    flaws: { shards: { isRefusalLost: true } },
    requested: { ...RETURNS, store: { answerLost: 0.15 } },
  },
  {
    name: 'head written before its rows',
    flaws: { checkpoints: { isHeadFirst: true } },
    requested: { ...LONG, store: { executedLate: 0.08, swallowed: 0.04 } },
  },
  {
    name: 'chunk written after the head',
    flaws: { checkpoints: { isChunkLast: true } },
    requested: { ...LONG, store: { executedLate: 0.08, swallowed: 0.04 } },
  },
  {
    name: 'head that forgets rows not in a chunk',
    flaws: { checkpoints: { isRowsForgotten: true } },
    requested: MOVES,
  },
  {
    name: 'head that forgets its floor',
    flaws: { checkpoints: { isFloorForgotten: true } },
    requested: { ...MOVES, isTrimming: true, checkpointAgeMs: 5_000 },
  },
  {
    name: 'batch of heads with one version stamp',
    flaws: { checkpoints: { isBatchStamped: true } },
    requested: LONG,
  },
  {
    name: 'write without a version stamp',
    flaws: { checkpoints: { isUnstamped: true } },
    requested: LONG,
  },
  {
    name: 'low-water mark moved before the checkpoint',
    flaws: { checkpoints: { isUnconfirmed: true } },
    requested: LONG,
  },
  {
    name: 'early answer dropped before it is stored',
    flaws: { checkpoints: { isAnswerUnconfirmed: true } },
    requested: { ...ROUGH, keyed: 0.8, loadMs: 45_000 },
  },
  {
    name: 'delete that removes the head',
    flaws: { checkpoints: { isMarkerless: true } },
    requested: LONG,
  },
  {
    name: 'request ids forgotten in a head',
    flaws: { checkpoints: { isCallsForgotten: true } },
    requested: MOVES,
  },
];
