import type { Flaws } from '#test/simulation/flaws';
import type { ScenarioRequest } from '#test/simulation/scenario';

/** The system with one thing deliberately broken. Source: architecture 7. */
export type Variant = {
  readonly name: string;
  readonly flaws?: Flaws;
  /** Breaks the code itself until the stack is disposed. */
  readonly spoil?: (stack: DisposableStack) => void;
  /** The runs that it shows in soonest. */
  readonly requested: ScenarioRequest;
};

/** What is wrong with engines shows without limiters, and with checkpoints within a run, sooner. */
const ENGINES = {
  limiters: 0,
  checkpointAgeMs: 20_000,
  isDeletionTimed: false,
  isTrimming: false,
} as const;

/** Processes end or stall, or cannot reach the store. */
export const CRASHES: ScenarioRequest = {
  ...ENGINES,
  only: ['kill', 'pause', 'storeCut'],
  count: 6,
  loadMs: 16_000,
};

/** Processes leave and come back in good order. */
export const MOVES: ScenarioRequest = { ...ENGINES, only: ['restart'], count: 6, loadMs: 14_000 };

/** Long enough for checkpoints by age and for what follows from them. */
export const LONG: ScenarioRequest = {
  ...ENGINES,
  only: ['kill', 'restart', 'pause'],
  count: 8,
  loadMs: 45_000,
};

/** Processes end while the store fails a lot. */
export const ROUGH: ScenarioRequest = {
  ...ENGINES,
  only: ['kill'],
  count: 6,
  loadMs: 16_000,
  store: { executedLate: 0.15, answerLost: 0.1, swallowed: 0.1 },
};

/** Nodes without their store, or without each other, and edges that hear nothing of it. */
export const ISLANDS: ScenarioRequest = {
  ...ENGINES,
  only: ['storeCut', 'edgeBusCut', 'edgeBusCut', 'island'],
  count: 10,
  loadMs: 40_000,
};

/** Nodes that only edges and the store reach, so that they are taken for unreachable. */
export const GONE: ScenarioRequest = {
  ...ENGINES,
  only: ['island', 'edgeBusCut'],
  count: 10,
  loadMs: 45_000,
  isCalm: true,
};

/** A shard that comes back to where it was: every 30 s at most. */
export const RETURNS: ScenarioRequest = {
  ...ENGINES,
  only: ['restart'],
  count: 10,
  loadMs: 75_000,
};

/** Nothing but the store stalls now and then. */
export const STALLS: ScenarioRequest = {
  ...ENGINES,
  only: ['storeStall'],
  count: 3,
  loadMs: 40_000,
  isCalm: true,
};
