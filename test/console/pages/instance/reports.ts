import type { DriftEvent, Processed as Report } from '#clients/typescript/src/models';
import { reportJson } from '#engine/json';
import type { Observation } from '#identity/model';
import { newReport, readReport } from '#identity/report';
import { createState, type State } from '#identity/state';
import type { HistoryRow, InstanceEvent } from '#pages/instance/events';
import { advanced } from '#test/support/arbitrary-identity';

/** Instance id in these tests. */
export const INSTANCE_ID = 'inst_0123456789abcdef';

/** Report of the service about a state. */
export function reportOf(state: State): Report {
  const report = newReport();
  readReport(state, report);
  return JSON.parse(reportJson(INSTANCE_ID, report));
}

/** A fresh state with different strengths. */
export function someState(): State {
  return createState({
    modeStrengths: [0.85, 0.25, 0.75, 0.35, 0.25, 0.45, 0.2],
    energyLevel: 0.8,
  });
}

/** States after each observation, 60 s apart. */
export function statesAfter(state: State, observations: readonly Observation[]): State[] {
  const states: State[] = [];
  for (const observation of observations) {
    states.push(advanced(states.at(-1) ?? state, observation, 60));
  }
  return states;
}

/** The report of a fresh instance, with this cycle number. */
export function reportAt(cycle: number): Report {
  const report = reportOf(someState());
  return { ...report, snapshot: { ...report.snapshot, cycle } };
}

const TARGETS = ['PERCEPTION', 'ORDER', 'CONNECTION', 'ASSERTION'];

/** A row of history; rows are one minute apart. */
export function rowOf(cycle: number, generation = 1): HistoryRow {
  return {
    ...{ cycle, generation, signal_strength: 0.5, confidence: 0.9, context: {} },
    mode_target: TARGETS[cycle % TARGETS.length] ?? 'ORDER',
    timestamp: new Date(Date.UTC(2026, 0, 15, 12) + cycle * 60_000).toISOString(),
  };
}

/** Event of a cycle. By default, the cycle has the number `ordinal`, generation 1 and no drift. */
export function cycleEvent(
  ordinal: number,
  cycle = ordinal,
  generation = 1,
  drift: DriftEvent | null = null,
): InstanceEvent {
  return { kind: 'cycle', ordinal, observation: rowOf(cycle, generation), drift };
}
