import type { Flaws } from '#test/simulation/faults/flaws';
import type { ScenarioRequest } from '#test/simulation/scenario';

/** The cluster with one deliberate flaw. Source: architecture 7. */
export type Variant = {
  readonly name: string;
  readonly flaws?: Flaws;
  /** Replaces methods of the code until the stack is disposed. */
  readonly spoil?: (stack: DisposableStack) => void;
  /** Scenario that detects the flaw soonest. */
  readonly requested: ScenarioRequest;
};

/** Engine flaws appear sooner without limiters and webhooks, and with early checkpoints. */
const ENGINES = {
  limiters: 0,
  webhooks: 0,
  checkpointAgeMs: 20_000,
  isDeletionTimed: false,
  isTrimming: false,
} as const;

/** Processes crash, pause or lose the store. */
export const CRASHES: ScenarioRequest = {
  ...ENGINES,
  only: ['kill', 'pause', 'storeCut'],
  count: 6,
  loadMs: 16_000,
};

/** Processes stop cleanly and restart. */
export const MOVES: ScenarioRequest = { ...ENGINES, only: ['restart'], count: 6, loadMs: 14_000 };

/** The load is long enough that old dirty actors are checkpointed. */
export const LONG: ScenarioRequest = {
  ...ENGINES,
  only: ['kill', 'restart', 'pause'],
  count: 8,
  loadMs: 45_000,
};

/** Processes crash while the store often fails. */
export const ROUGH: ScenarioRequest = {
  ...ENGINES,
  only: ['kill'],
  count: 6,
  loadMs: 16_000,
  store: { executedLate: 0.15, answerLost: 0.1, swallowed: 0.1 },
};

/** Nodes lose the store or each other, and edges receive no announcements. */
export const ISLANDS: ScenarioRequest = {
  ...ENGINES,
  only: ['storeCut', 'edgeBusCut', 'edgeBusCut', 'island'],
  count: 10,
  loadMs: 40_000,
};

/** Nodes that other nodes consider unreachable, although edges and the store reach them. */
export const GONE: ScenarioRequest = {
  ...ENGINES,
  only: ['island', 'edgeBusCut'],
  count: 10,
  loadMs: 45_000,
  isCalm: true,
};

/** Policies and proxies refuse connections between live nodes; edges miss announcements. */
export const REFUSALS: ScenarioRequest = {
  ...ENGINES,
  only: ['refusal', 'edgeBusCut'],
  count: 12,
  loadMs: 40_000,
  isCalm: true,
};

/** Shards return to an earlier owner, at most every 30 s. */
export const RETURNS: ScenarioRequest = {
  ...ENGINES,
  only: ['restart'],
  count: 10,
  loadMs: 75_000,
};

/** The store stalls sometimes; no other faults. */
export const STALLS: ScenarioRequest = {
  ...ENGINES,
  only: ['storeStall'],
  count: 3,
  loadMs: 40_000,
  isCalm: true,
};
