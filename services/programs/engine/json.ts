import { BRIEF_START } from '#grpc/engine-messages';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { DRIFT_LEVELS, DRIFT_LIMIT } from '#identity/drift';
import { MODE_COUNT, MODE_KEYS, MODE_NAMES } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { COMPOSITES, itemAt, type Ranking } from '#identity/ranking';
import type { Deviation, Report } from '#identity/report';
import { STRESS_STATES } from '#identity/state';

/*
 * Builds JSON text in a reused byte buffer. Joining many small strings would build a tree that V8
 * flattens before sending, at a higher cost than the model. Functions pass positions on instead of
 * storing them, so that no state remains between texts.
 */

/**
 * Maximum text length in bytes: three times the longest report object. A write beyond the end
 * throws.
 */
const BYTES_MAX = 16_384;

const bytes = Buffer.alloc(BYTES_MAX);
const view = new DataView(bytes.buffer, bytes.byteOffset, BYTES_MAX);

/** Two ASCII hex digits for each of 0..255, as a word, lowest byte first. */
const HEX_PAIRS = Uint32Array.from({ length: 256 }, (_, n) =>
  Buffer.from(n.toString(16).padStart(2, '0'), 'latin1').readUInt16LE(),
);

/** ASCII text, prepared for copying eight bytes at a time. */
type Fragment = {
  readonly length: number;
  /**
   * The text as little-endian doubles, which are only copied (ASCII never encodes a NaN). The next
   * write overwrites the padding in the last double.
   */
  readonly words: Float64Array;
};

/** Prepares ASCII `text` for `put`. */
export function fragment(text: string): Fragment {
  const padded = Buffer.alloc(Math.ceil(text.length / 8) * 8);
  padded.write(text, 'latin1');
  const words = Float64Array.from({ length: padded.length / 8 }, (_, word) =>
    padded.readDoubleLE(8 * word),
  );
  return { length: text.length, words };
}

/** Writes `piece` at `position` and returns the position after it. */
export function put(piece: Fragment, position: number): number {
  const { words } = piece;
  for (let word = 0; word < words.length; word++) {
    view.setFloat64(position + 8 * word, words[word] as number, true);
  }
  return position + piece.length;
}

/** Writes the low four bytes of `word`. The caller decides how many bytes to keep. */
function putWord(word: number, position: number): void {
  view.setUint32(position, word, true);
}

/** Writes a 32-bit number as eight hex digits and returns the position after them. */
export function putHex(value: number, position: number): number {
  putWord(hexPair(value >>> 24) | (hexPair((value >>> 16) & 0xff) << 16), position);
  putWord(hexPair((value >>> 8) & 0xff) | (hexPair(value & 0xff) << 16), position + 4);
  return position + 8;
}

function hexPair(byte: number): number {
  return HEX_PAIRS[byte] as number;
}

/** Writes the unprepared ASCII `text` and returns the position after it. */
function putText(text: string, position: number): number {
  for (let index = 0; index < text.length; index++) {
    view.setUint8(position + index, text.charCodeAt(index));
  }
  return position + text.length;
}

/** Text before `position`, as a flat string. */
export function textUpTo(position: number): string {
  return bytes.toString('latin1', 0, position);
}

/*
 * Writes a process answer's three objects as JSON text, from pieces quoted once at start. A
 * serializer that visits objects costs more than the whole model. A piece includes punctuation and
 * the following key, because fewer pieces are faster.
 */

/** Fragments `before` + word + `after` for each word. */
const between = (before: string, words: readonly string[], after: string): Fragment[] =>
  words.map((word) => fragment(`${before}${word}${after}`));

const quoted = (words: readonly string[]) => words.map((word) => JSON.stringify(word));

/** List pieces: each word as first entry, and as later entry. */
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

/** Reason per drift level: a sentence and a word. Source: model 3.6. */
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

const BRIEF_CYCLE = fragment(BRIEF_START);
const BRIEF_STRESS = between(',"stress_state":', quoted(STRESS_STATES), ',"drift_level":');
const BRIEF_LEVEL = between('', quoted(DRIFT_LEVELS), ',"allowed_actions":');

const ANSWER_SNAPSHOT = fragment('{"snapshot":');
const ANSWER_CONTRACT = fragment(',"contract":');
const ANSWER_DRIFT = fragment(',"drift":');

/**
 * Snapshot, contract and drift in a process answer's single object. One pass is cheaper than three.
 * `instanceId` must be a generated id, as in `snapshotJson`. Source: interface 4.2.
 */
export function reportJson(instanceId: string, report: Report): string {
  let position = putSnapshot(instanceId, report, put(ANSWER_SNAPSHOT, 0));
  position = putContract(report, put(ANSWER_CONTRACT, position));
  position = putDrift(report, put(ANSWER_DRIFT, position));
  return textUpTo(put(OBJECT_END, position));
}

/** Members of a result of a fleet call: cycle, stress state, drift level and actions. */
export function briefJson(report: Report): string {
  const { snapshot, contract, deviation } = report;
  let position = putWhole(snapshot.cycle, put(BRIEF_CYCLE, 0));
  position = put(BRIEF_STRESS[snapshot.stressLevel] as Fragment, position);
  position = put(BRIEF_LEVEL[deviation.level] as Fragment, position);
  position = putList(contract.allowed, ACTION_LIST, position);
  position = putList(contract.forbidden, ACTION_LIST, put(FORBIDDEN, position));
  return textUpTo(put(OBJECT_END, position));
}

/** A process answer's snapshot. `instanceId` must be a generated id, which needs no escaping. */
export function snapshotJson(instanceId: string, report: Report): string {
  return textUpTo(putSnapshot(instanceId, report, 0));
}

/** Execution contract. Source: interface 2.6. */
export function contractJson(report: Report): string {
  return textUpTo(putContract(report, 0));
}

/** Drift classification: level and deviation. Source: interface 2.7, model 3.6. */
export function driftJson(report: Report): string {
  return textUpTo(putDrift(report, 0));
}

/** Deviation alone, as in a drift event. */
export function deviationJson({ deviation }: Report): string {
  return textUpTo(putDeviation(deviation, 0));
}

/**
 * A drift event's affected modes, lower case, strongest contribution first. Source: interface 2.7.
 */
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

/** Piece `index`, or `none` for -1. Reading array index -1 would also work, but slowly. */
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

/** Number scale in answers: six decimals. Source: model 0. */
const SCALE = 1e6;
const HALF_SCALE = 1e3;

/** Magnitude above which a double cannot represent six decimals exactly. */
const EXACT_MAX = 1e9;

/** Three ASCII digits for each of 0..999, as a word, lowest byte first. */
const DIGITS = Uint32Array.from({ length: HALF_SCALE }, (_, n) => {
  const text = String(n).padStart(3, '0');
  return text.charCodeAt(0) | (text.charCodeAt(1) << 8) | (text.charCodeAt(2) << 16);
});

/** Number of digits without trailing zeros, for each of 0..999. */
const TAIL_LENGTHS = Uint8Array.from(
  { length: HALF_SCALE },
  (_, n) => String(n).padStart(3, '0').replace(/0+$/, '').length,
);

const MINUS = '-'.charCodeAt(0);
const POINT = '.'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);

/**
 * Writes finite `value` as a JSON number with six decimals and returns the position after it. Omits
 * trailing zeros and the sign of zero. Copies digits from a table, three at a time, several times
 * faster than printing a double.
 */
export function putDecimal(value: number, position: number): number {
  const magnitude = Math.abs(value);
  if (magnitude >= EXACT_MAX) return putText(String(value), position);
  const millionths = Math.round(magnitude * SCALE);
  let next = position;
  if (value < 0 && millionths > 0) {
    putWord(MINUS, next);
    next++;
  }
  const whole = Math.floor(millionths / SCALE);
  next = putWhole(whole, next);
  const rest = millionths - whole * SCALE;
  if (rest === 0) return next;
  const high = Math.floor(rest / HALF_SCALE);
  const low = rest - high * HALF_SCALE;
  putWord(POINT | ((DIGITS[high] as number) << 8), next);
  if (low === 0) return next + 1 + (TAIL_LENGTHS[high] as number);
  putWord(DIGITS[low] as number, next + 4);
  return next + 4 + (TAIL_LENGTHS[low] as number);
}

/** Writes whole number `value` >= 0 and returns the position after it. */
function putWhole(value: number, position: number): number {
  if (value >= 10) return putText(String(value), position);
  putWord(ZERO + value, position);
  return position + 1;
}

/** First surrogate code unit. Surrogates encode code points above U+FFFF. */
const SURROGATE_FIRST = 0xd800;

/** First code unit after the surrogates. */
const SURROGATE_END = 0xe000;

const SURROGATE = /[\ud800-\udfff]/;

/** Added to surrogates, so that surrogates sort above all single code units up to U+FFFF. */
const SURROGATE_RISE = 0x1_0000 - SURROGATE_END;

/** Subtracted from code units after the surrogates, to close the gap. */
const SINK = SURROGATE_END - SURROGATE_FIRST;

/**
 * Compares two strings by code point: negative, zero or positive. JavaScript compares UTF-16 code
 * units, which sort U+1F600 before U+FF5E.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return ranked(unitA) - ranked(unitB);
  }
  return a.length - b.length;
}

/** Whether a string has surrogates, which JavaScript's comparison sorts differently. */
export function hasSurrogates(text: string): boolean {
  return SURROGATE.test(text);
}

function ranked(unit: number): number {
  if (unit >= SURROGATE_END) return unit - SINK;
  return unit >= SURROGATE_FIRST ? unit + SURROGATE_RISE : unit;
}
