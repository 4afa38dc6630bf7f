import { type Contract, newContract, readContract } from '#identity/contract';
import { type Deviation, newDeviation, readDeviation } from '#identity/deviation';
import { newSnapshot, readSnapshot, type Snapshot } from '#identity/snapshot';
import type { State } from '#identity/state';

/**
 * All reported values of a state and its last cycle, as numbers and positions. Reusable, and
 * without references to the state.
 */
export type Report = {
  readonly snapshot: Snapshot;
  readonly contract: Contract;
  readonly deviation: Deviation;
};

/** A reusable, empty report for `readReport`. */
export function newReport(): Report {
  return { snapshot: newSnapshot(), contract: newContract(), deviation: newDeviation() };
}

/**
 * Fills `into` from `state`, without allocation. Overwrites all earlier values of `into`.
 *
 * A fresh or reset state reports level D0 and a deviation of zero. Interface 2.5 to 2.7, model 3.6,
 * 4.
 */
export function readReport(state: State, into: Report): void {
  readSnapshot(state, into.snapshot);
  readContract(state, into.snapshot, into.contract);
  readDeviation(state, into.snapshot, into.deviation);
}
