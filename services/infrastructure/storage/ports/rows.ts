import assert from 'node:assert/strict';
import { ByteReader, ByteWriter, CorruptState } from '#storage/ports/bytes';
import type { DriftRow, HistoryRow, PackedRows } from '#storage/ports/instances';

/** Decoder for the packed rows of a table. */
export type RowReading<Row> = {
  /** Name of one row, in errors; the plural ends with s. */
  readonly name: string;
  /** Reads the next row. Throws `CorruptState`. */
  readonly read: (reader: ByteReader, ordinal: number) => Row;
};

/** Encoder and decoder for the rows of a table. */
export type Packing<Row> = RowReading<Row> & {
  /** Packs a row without its ordinal, which follows from its position. */
  readonly pack: (row: Row) => PackedRows;
};

/**
 * Scale for signals and confidences. Most of them are short decimals, which take two bytes as a
 * count of 1/10,000.
 */
const FRACTIONS = 10_000;

const MODE_BITS = 0b111;
const IS_SIGNAL_SHORT = 1 << 3;
const IS_CONFIDENCE_SHORT = 1 << 4;
const IS_TIME_WHOLE = 1 << 5;
const HAS_CONTEXT = 1 << 6;
const OBSERVATION_FLAGS =
  MODE_BITS | IS_SIGNAL_SHORT | IS_CONFIDENCE_SHORT | IS_TIME_WHOLE | HAS_CONTEXT;

const IS_ROLLED_BACK = 1 << 0;
const IS_SHORTENED = 1 << 1;
const DRIFT_FLAGS = IS_ROLLED_BACK | IS_SHORTENED | IS_TIME_WHOLE;

/** Content of most contexts. */
const NO_CONTEXT = '{}';

const writer = new ByteWriter();

/** Observations, packed to 14 bytes each plus their contexts. */
export const OBSERVATIONS: Packing<HistoryRow> = {
  name: 'observation',
  pack({ generation, cycle, mode, signal, confidence, contextJson, timestampMs }) {
    assert(mode <= MODE_BITS, `there is no mode ${mode}`);
    const flags =
      mode |
      (isFraction(signal) ? IS_SIGNAL_SHORT : 0) |
      (isFraction(confidence) ? IS_CONFIDENCE_SHORT : 0) |
      (isWhole(timestampMs) ? IS_TIME_WHOLE : 0) |
      (contextJson === NO_CONTEXT ? 0 : HAS_CONTEXT);
    writer.beginPart().byte(flags).whole(generation).whole(cycle);
    writeFraction(signal);
    writeFraction(confidence);
    writeTime(timestampMs);
    if (contextJson !== NO_CONTEXT) writer.shortText(contextJson);
    return writer.endPart();
  },
  read(reader, ordinal) {
    const flags = reader.flags(OBSERVATION_FLAGS);
    return {
      ordinal,
      generation: reader.whole(),
      cycle: reader.whole(),
      mode: flags & MODE_BITS,
      signal: fractionFrom(reader, (flags & IS_SIGNAL_SHORT) !== 0),
      confidence: fractionFrom(reader, (flags & IS_CONFIDENCE_SHORT) !== 0),
      timestampMs: timeFrom(reader, (flags & IS_TIME_WHOLE) !== 0),
      contextJson: (flags & HAS_CONTEXT) === 0 ? NO_CONTEXT : reader.shortText(),
    };
  },
};

/** Drift events, packed to a quarter of their texts. */
export const DRIFT_EVENTS: Packing<DriftRow> = {
  name: 'drift event',
  pack({ generation, cycle, level, deviationJson, affectedModesJson, isRolledBack, timestampMs }) {
    const short = shortened(deviationJson);
    const flags =
      (isRolledBack ? IS_ROLLED_BACK : 0) |
      (short === undefined ? 0 : IS_SHORTENED) |
      (isWhole(timestampMs) ? IS_TIME_WHOLE : 0);
    writer.beginPart().byte(flags).whole(generation).whole(cycle);
    writeTime(timestampMs);
    writer
      .shortText(level)
      .shortText(short ?? deviationJson)
      .shortText(affectedModesJson);
    return writer.endPart();
  },
  read(reader, ordinal) {
    const flags = reader.flags(DRIFT_FLAGS);
    const generation = reader.whole();
    const cycle = reader.whole();
    const timestampMs = timeFrom(reader, (flags & IS_TIME_WHOLE) !== 0);
    const level = reader.shortText();
    const deviation = reader.shortText();
    return {
      ordinal,
      generation,
      cycle,
      level,
      deviationJson: (flags & IS_SHORTENED) === 0 ? deviation : lengthened(deviation),
      affectedModesJson: reader.shortText(),
      isRolledBack: (flags & IS_ROLLED_BACK) !== 0,
      timestampMs,
    };
  },
};

/**
 * Unpacks rows of an instance, oldest first. `first` and `last` are the ordinals of the first and
 * the last row. Throws `CorruptState` if the number of rows is different.
 */
export function unpacked<Row>(
  { name, read }: RowReading<Row>,
  instanceId: string,
  rows: PackedRows,
  first: number,
  last: number,
): Row[] {
  if (rows === '' && last < first) return [];
  const what = `${name}s ${first} to ${last} of ${instanceId}`;
  const reader = new ByteReader(Buffer.from(rows, 'latin1'), what);
  const found: Row[] = [];
  while (!reader.isAtEnd) found.push(read(reader, first + found.length));
  if (found.length === last - first + 1) return found;
  throw new CorruptState(`${what} are ${found.length} rows`);
}

function isFraction(value: number): boolean {
  // Adding 0 turns -0 into 0, because -0 is a different number.
  const count = Math.round(value * FRACTIONS) + 0;
  return count >= 0 && count <= 0xffff && Object.is(count / FRACTIONS, value);
}

function writeFraction(value: number): void {
  if (isFraction(value)) writer.short(Math.round(value * FRACTIONS));
  else writer.number(value);
}

function fractionFrom(reader: ByteReader, isShort: boolean): number {
  return isShort ? reader.short() / FRACTIONS : reader.number();
}

function isWhole(timeMs: number): boolean {
  return Number.isSafeInteger(timeMs) && timeMs >= 0 && !Object.is(timeMs, -0);
}

function writeTime(timeMs: number): void {
  if (isWhole(timeMs)) writer.whole(timeMs);
  else writer.number(timeMs);
}

function timeFrom(reader: ByteReader, isWholeTime: boolean): number {
  return isWholeTime ? reader.whole() : reader.number();
}

/**
 * Dictionary of frequent phrases in drift events. Longer phrases come before their parts. The index
 * of a phrase is a byte in stored rows. Phrases may be appended, but never changed or moved.
 */
const PHRASES: readonly string[] = [
  '{"description":"The present state departs from the set-point.","reason":"situational_departure","distance":',
  '{"description":"A departure has lasted longer than a passing situation explains.","reason":"sustained_shift","distance":',
  '{"description":"The modes left the range of this identity and were rolled back.","reason":"identity_breach","distance":',
  '{"mode":"perception","z":',
  ',"contribution":0},{"mode":"exploration","z":',
  ',"contribution":0},{"mode":"order","z":',
  ',"contribution":0},{"mode":"assertion","z":',
  ',"contribution":0},{"mode":"connection","z":',
  ',"contribution":0},{"mode":"identity","z":',
  ',"contribution":0},{"mode":"stress_response","z":',
  '},{"mode":"exploration","z":',
  '},{"mode":"order","z":',
  '},{"mode":"assertion","z":',
  '},{"mode":"connection","z":',
  '},{"mode":"identity","z":',
  '},{"mode":"stress_response","z":',
  ',"contribution":',
  ',"t2":',
  ',"p_value":',
  ',"breach":',
  ',"run":',
  ',"sustained":{"statistic":',
  ',"limit":5.298317,"mode":"',
  '","direction":"up"},"modes":[',
  '","direction":"down"},"modes":[',
  '}],"nearest_persona":null,"composite":null}',
  '}],"nearest_persona":"persona_',
  '","composite":null}',
];

/** Control characters, which JSON always escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters stand for phrases
const CONTROL = /[\u0000-\u001f]/;

/** Characters that stand for the phrases. */
const PHRASE_CHARACTERS = PHRASES.map((_, place) => String.fromCharCode(place));

/** Phrases by their first character. */
const BY_START: (number[] | undefined)[] = [];
for (const [place, phrase] of PHRASES.entries()) {
  const start = phrase.charCodeAt(0);
  BY_START[start] = [...(BY_START[start] ?? []), place];
}

/** Distance of a character that differs between most phrases with the same start. */
const DISTINCT_AT = 17;

/** Two further characters of each phrase, which are compared before the whole phrase. */
const MARKS = PHRASES.map((phrase) => {
  const at = Math.min(DISTINCT_AT, phrase.length - 1);
  return { third: phrase.charCodeAt(2), at, distinct: phrase.charCodeAt(at) };
});

/**
 * Replaces each phrase in JSON by a single character; undefined if the JSON already contains such
 * characters. One pass: a search for each phrase takes twice as long.
 */
function shortened(json: string): string | undefined {
  if (CONTROL.test(json)) return undefined;
  let short = '';
  let taken = 0;
  for (let at = 0; at < json.length; ) {
    const place = phraseAt(json, at);
    if (place === undefined) {
      at += 1;
      continue;
    }
    short += json.slice(taken, at) + PHRASE_CHARACTERS[place];
    at += (PHRASES[place] as string).length;
    taken = at;
  }
  return short + json.slice(taken);
}

/** The first phrase that starts at an index. */
function phraseAt(json: string, at: number): number | undefined {
  const places = BY_START[json.charCodeAt(at)];
  if (places === undefined) return undefined;
  for (const place of places) {
    const mark = MARKS[place] as (typeof MARKS)[number];
    const isLikely =
      json.charCodeAt(at + 2) === mark.third && json.charCodeAt(at + mark.at) === mark.distinct;
    if (isLikely && json.startsWith(PHRASES[place] as string, at)) return place;
  }
  return undefined;
}

/** Restores the JSON that `shortened` shortened. */
function lengthened(short: string): string {
  return PHRASES.reduce(
    (json, phrase, place) => json.replaceAll(String.fromCharCode(place), phrase),
    short,
  );
}
