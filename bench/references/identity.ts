import { singleAnswer } from '#engine/instance/answers';
import { timingOf } from '#engine/instance/state';
import type { EngineAnswer } from '#grpc/engine-messages';
import { advance } from '#identity/model';
import { MODE_TARGETS } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
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

/** Account of all instances of a reference. */
export const INSTANCE_ACCOUNT = 'bench0000000';

/** Id of a reference's instance, from 0. */
export function instanceId(instance: number): string {
  return `inst_${instance.toString(16).padStart(16, '0')}`;
}

/** Mode strengths of a reference's instance: the profile of a persona. */
export function modeStrengthsOf(instance: number): readonly number[] {
  return PERSONA_PROFILES[instance % PERSONA_PROFILES.length]?.strengths ?? [];
}

const firstModels = PERSONA_PROFILES.map(({ strengths }) =>
  createState({ modeStrengths: strengths, energyLevel: ENERGY_DEFAULT }),
);

/** State of a reference's instance before the first observation. */
export function firstIdentity(instance: number): StoredIdentity {
  const model = firstModels[instance % firstModels.length] ?? new Float64Array();
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
  const mode = (MODE_TARGETS as readonly string[]).indexOf(mode_target);
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
