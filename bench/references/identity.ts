import { singleAnswer } from '#engine/instance/answers';
import { timingOf } from '#engine/instance/state';
import type { EngineAnswer } from '#grpc/engine-messages';
import { advance } from '#identity/model';
import { MODE_NAMES } from '#identity/modes';
import { newReport, readReport } from '#identity/report';
import { createState, ENERGY_DEFAULT, type State } from '#identity/state';

/** Body of an observation request (interface 2.7), validated by a schema. */
export type SentObservation = {
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence: number;
  readonly context: object;
  readonly timestamp?: string;
};

/** Stored state of an instance in a database row. */
export type StoredIdentity = {
  readonly version: number;
  /** Time of the last observation in Unix milliseconds; undefined before the first. */
  readonly observedAtMs: number | undefined;
  readonly model: State;
};

/** Result of an observation: next row, history row and answer. */
export type Cycle = {
  readonly next: StoredIdentity & { readonly observedAtMs: number };
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  readonly contextJson: string;
  readonly answer: EngineAnswer;
};

const report = newReport();

/** State of an instance before the first observation. */
export function newIdentity(modeStrengths: readonly number[]): StoredIdentity {
  const model = createState({ modeStrengths, energyLevel: ENERGY_DEFAULT });
  return { version: 1, observedAtMs: undefined, model };
}

/**
 * Processes an observation with the service's model, interval rule and answer format. Returns
 * undefined if the observation is throttled.
 */
export function observe(
  id: string,
  { version, observedAtMs, model: before }: StoredIdentity,
  observation: SentObservation,
): Cycle | undefined {
  const { mode_target, signal_strength: signal, confidence, context, timestamp } = observation;
  const callerMs = timestamp === undefined ? undefined : Date.parse(timestamp);
  const nowMs = Date.now();
  const timing = timingOf(callerMs, 1, { observedAtMs, nowMs, presentMs: nowMs });
  if (timing.kind === 'throttled') return undefined;
  const { firstMs } = timing;
  const mode = (MODE_NAMES as readonly string[]).indexOf(mode_target);
  const model = before.slice();
  advance(
    model,
    { mode, signal, confidence },
    (firstMs - (observedAtMs ?? firstMs)) / 1_000,
    model,
  );
  readReport(model, report);
  const next = { version: version + 1, observedAtMs: firstMs, model };
  const answer = singleAnswer(id, report, next.version);
  return { next, mode, signal, confidence, contextJson: JSON.stringify(context), answer };
}
