import { type Contract, newContract, readContract } from '#identity/contract';
import { type Deviation, newDeviation, readDeviation } from '#identity/deviation';
import { newSnapshot, readSnapshot, type Snapshot } from '#identity/snapshot';
import type { State } from '#identity/state';

/**
 * Everything a caller sees of a state and of its last cycle, in numbers and positions. It holds no
 * reference to the state and can be filled any number of times.
 */
export type Report = {
  readonly snapshot: Snapshot;
  readonly contract: Contract;
  readonly deviation: Deviation;
};

/** An empty report for `readReport` to fill, again and again. */
export function newReport(): Report {
  return { snapshot: newSnapshot(), contract: newContract(), deviation: newDeviation() };
}

/**
 * Fills `into` from `state` alone and makes no objects; what it held before does not matter. A
 * fresh or reset state reports level D0 and a deviation of zero. Interface 2.5 to 2.7, model 3.6,
 * 4.
 */
export function readReport(state: State, into: Report): void {
  readSnapshot(state, into.snapshot);
  readContract(state, into.snapshot, into.contract);
  readDeviation(state, into.snapshot, into.deviation);
}
