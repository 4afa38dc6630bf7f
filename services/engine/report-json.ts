import { putDecimal, putWhole } from '#engine/decimal-json';
import { type Fragment, fragment, put, putText, textUpTo } from '#engine/json-text';
import { ACTIONS } from '#identity/actions';
import { COMMITMENTS, EXPRESSIVENESSES, RISKS, TEMPOS } from '#identity/decision-style';
import type { Deviation } from '#identity/deviation';
import { DRIFT_LEVELS } from '#identity/drift';
import { STRESS_STATES } from '#identity/ladder';
import { DRIFT_LIMIT } from '#identity/learning';
import { MODE_COUNT, MODE_KEYS, MODE_NAMES } from '#identity/modes';
import { COMPOSITES } from '#identity/persona-match';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { itemAt, type Ranking } from '#identity/ranking';
import { RECOVERY_PATHS } from '#identity/recovery';
import type { Report } from '#identity/report';

/*
 * The three objects of a process answer as JSON text, in pieces that were quoted once: a serializer
 * that walks objects costs more than the whole model. A piece carries the punctuation and the key
 * that follow it, because fewer pieces are faster.
 */

/** Each of `words` between two fixed texts. */
const between = (before: string, words: readonly string[], after: string): Fragment[] =>
  words.map((word) => fragment(`${before}${word}${after}`));

const quoted = (words: readonly string[]) => words.map((word) => JSON.stringify(word));

/** A list in pieces: its words as the first, and as any later entry. */
type ListPieces = { first: readonly Fragment[]; later: readonly Fragment[] };
const listPieces = (words: readonly string[]): ListPieces => ({
  first: between('[', quoted(words), ''),
  later: between(',', quoted(words), ''),
});

const ACTION_LIST = listPieces(ACTIONS);
const MODE_NAME_LIST = listPieces(MODE_NAMES);
const MODE_KEY_LIST = listPieces(MODE_KEYS);
const EMPTY_LIST = fragment('[]');
const LIST_END = fragment(']');
const OBJECT_END = fragment('}');

const SNAPSHOT_START = fragment('{"instance_id":"');
const CYCLE = fragment('","cycle":');
const STRENGTHS = MODE_KEYS.map((key, mode) =>
  fragment(`${mode === 0 ? ',"mode_strengths":{' : ','}"${key}":`),
);
const SNAPSHOT_ENERGY = fragment('},"energy_level":');
const SNAPSHOT_STRESS = between(',"stress_state":', quoted(STRESS_STATES), ',"stability_index":');

const DOMINANT = fragment('{"dominant_modes":');
const SUPPRESSED = fragment(',"suppressed_modes":');
const ALLOWED = fragment(',"allowed_actions":');
const FORBIDDEN = fragment(',"forbidden_actions":');
const TEMPO = between(',"decision_style":{"tempo":', quoted(TEMPOS), ',"risk":');
const RISK = between('', quoted(RISKS), ',"expressiveness":');
const EXPRESSIVENESS = between('', quoted(EXPRESSIVENESSES), ',"commitment_threshold":');
const COMMITMENT = between('', quoted(COMMITMENTS), '},"energy_level":');
const CONTRACT_STRESS = between(',"stress_state":', quoted(STRESS_STATES), ',"recovery_profile":{');
const PATH = between('"preferred_path":', quoted(RECOVERY_PATHS), ',"support_required":');
const IS_SUPPORTED = between('', ['false', 'true'], ',"cooldown_required":');
const IS_COOLED = between('', ['false', 'true'], '}}');

const LEVEL = between('{"level":', quoted(DRIFT_LEVELS), ',"deviation":');

/** Why the level is what it is, in a sentence and a word. Source: model 3.6. */
const REASON = [
  reason('within_band', 'Behaviour stays within what is usual for this identity.'),
  reason('situational_departure', 'The present state departs from the set-point.'),
  reason('sustained_shift', 'A departure has lasted longer than a passing situation explains.'),
  reason('identity_breach', 'The modes left the range of this identity and were rolled back.'),
];
const STATISTIC = fragment(',"t2":');
const P_VALUE = fragment(',"p_value":');
const BREACH = fragment(',"breach":');
const RUN = fragment(',"run":');
const EVIDENCE = fragment(',"sustained":{"statistic":');
const LIMIT = fragment(`,"limit":${Math.round(DRIFT_LIMIT * 1e6) / 1e6}`);
const POINTS_NOWHERE = fragment(',"mode":null,"direction":null},"modes":');
const POINTS_UP = between(',"mode":', quoted(MODE_KEYS), ',"direction":"up"},"modes":');
const POINTS_DOWN = between(',"mode":', quoted(MODE_KEYS), ',"direction":"down"},"modes":');
const DEPARTURE = MODE_KEYS.map((key, mode) =>
  fragment(`${mode === 0 ? '[' : '},'}{"mode":"${key}","z":`),
);
const CONTRIBUTION = fragment(',"contribution":');
const PERSONA = between('}],"nearest_persona":', quoted(PERSONA_PROFILES.map(({ id }) => id)), '');
const NO_PERSONA = fragment('}],"nearest_persona":null');
const COMPOSITE = between(',"composite":', quoted(COMPOSITES.map(({ key }) => key)), '}');
const NO_COMPOSITE = fragment(',"composite":null}');

const ANSWER_SNAPSHOT = fragment('{"snapshot":');
const ANSWER_CONTRACT = fragment(',"contract":');
const ANSWER_DRIFT = fragment(',"drift":');

/**
 * Snapshot, contract and drift as the one object that a processed observation is answered with; in
 * one pass, and so cheaper than the three apart. `instanceId` as below. Source: interface 4.2.
 */
export function reportJson(instanceId: string, report: Report): string {
  let position = putSnapshot(instanceId, report, put(ANSWER_SNAPSHOT, 0));
  position = putContract(report, put(ANSWER_CONTRACT, position));
  position = putDrift(report, put(ANSWER_DRIFT, position));
  return textUpTo(put(OBJECT_END, position));
}

/** The snapshot of a process answer. `instanceId` was made here: no character needs escaping. */
export function snapshotJson(instanceId: string, report: Report): string {
  return textUpTo(putSnapshot(instanceId, report, 0));
}

/** The execution contract of interface 2.6. */
export function contractJson(report: Report): string {
  return textUpTo(putContract(report, 0));
}

/** The drift classification: level and deviation. Source: interface 2.7, model 3.6. */
export function driftJson(report: Report): string {
  return textUpTo(putDrift(report, 0));
}

/** The deviation alone, as a drift event carries it too. */
export function deviationJson({ deviation }: Report): string {
  return textUpTo(putDeviation(deviation, 0));
}

/** The affected modes of a drift event, lower case, strongest contribution first. Interface 2.7. */
export function affectedModesJson({ deviation }: Report): string {
  return textUpTo(putList(deviation.affected, MODE_KEY_LIST, 0));
}

function putSnapshot(instanceId: string, report: Report, start: number): number {
  const { cycle, strengths, energy, stressLevel, stability } = report.snapshot;
  let position = putText(instanceId, put(SNAPSHOT_START, start));
  position = putWhole(cycle, put(CYCLE, position));
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    position = put(STRENGTHS[mode] as Fragment, position);
    position = putDecimal(strengths[mode] as number, position);
  }
  position = putDecimal(energy, put(SNAPSHOT_ENERGY, position));
  position = putDecimal(stability, put(SNAPSHOT_STRESS[stressLevel] as Fragment, position));
  return put(OBJECT_END, position);
}

function putContract(report: Report, start: number): number {
  const { energy, stressLevel } = report.snapshot;
  const lists = report.contract;
  const { style, path, isSupportRequired, isCooldownRequired } = report.contract;
  let position = putList(lists.dominant, MODE_NAME_LIST, put(DOMINANT, start));
  position = putList(lists.suppressed, MODE_NAME_LIST, put(SUPPRESSED, position));
  position = putList(lists.allowed, ACTION_LIST, put(ALLOWED, position));
  position = putList(lists.forbidden, ACTION_LIST, put(FORBIDDEN, position));
  position = put(TEMPO[style.tempo] as Fragment, position);
  position = put(RISK[style.risk] as Fragment, position);
  position = put(EXPRESSIVENESS[style.expressiveness] as Fragment, position);
  position = put(COMMITMENT[style.commitment] as Fragment, position);
  position = putDecimal(energy, position);
  position = put(CONTRACT_STRESS[stressLevel] as Fragment, position);
  position = put(PATH[path] as Fragment, position);
  position = put(IS_SUPPORTED[isSupportRequired ? 1 : 0] as Fragment, position);
  return put(IS_COOLED[isCooldownRequired ? 1 : 0] as Fragment, position);
}

function putDrift({ deviation }: Report, start: number): number {
  const position = putDeviation(deviation, put(LEVEL[deviation.level] as Fragment, start));
  return put(OBJECT_END, position);
}

function putDeviation(deviation: Deviation, start: number): number {
  const { departures, contributions, evidenceMode, isEvidenceUp } = deviation;
  let position = putDecimal(deviation.distance, put(REASON[deviation.level] as Fragment, start));
  position = putDecimal(deviation.bandStatistic, put(STATISTIC, position));
  position = putDecimal(deviation.pValue, put(P_VALUE, position));
  position = putDecimal(deviation.breach, put(BREACH, position));
  position = putWhole(deviation.run, put(RUN, position));
  position = putDecimal(deviation.evidence, put(EVIDENCE, position));
  position = put(LIMIT, position);
  const pointers = isEvidenceUp ? POINTS_UP : POINTS_DOWN;
  position = put(pieceOr(POINTS_NOWHERE, pointers, evidenceMode), position);
  for (let mode = 0; mode < MODE_COUNT; mode++) {
    position = putDecimal(departures[mode] as number, put(DEPARTURE[mode] as Fragment, position));
    position = putDecimal(contributions[mode] as number, put(CONTRIBUTION, position));
  }
  position = put(pieceOr(NO_PERSONA, PERSONA, deviation.nearestPersona), position);
  return put(pieceOr(NO_COMPOSITE, COMPOSITE, deviation.composite), position);
}

/** Piece `index`, or `none` for -1. Asking an array for -1 would work, but slowly. */
function pieceOr(none: Fragment, pieces: readonly Fragment[], index: number): Fragment {
  return index < 0 ? none : (pieces[index] as Fragment);
}

function putList(ranking: Ranking, pieces: ListPieces, start: number): number {
  if (ranking.count === 0) return put(EMPTY_LIST, start);
  let position = put(pieces.first[itemAt(ranking, 0)] as Fragment, start);
  for (let index = 1; index < ranking.count; index++) {
    position = put(pieces.later[itemAt(ranking, index)] as Fragment, position);
  }
  return put(LIST_END, position);
}

function reason(word: string, description: string): Fragment {
  const opening = JSON.stringify({ description, reason: word }).slice(0, -1);
  return fragment(`${opening},"distance":`);
}
