import { ByteWriter, readerOf } from '#storage/ports/bytes';
import type { AnswerPosition, AnswerRow } from '#storage/ports/instances';

/*
 * Rows of the table of answers. A row has one answer, or the answers of a slot: those to the keys
 * that callers made within the same 65,536 ms. In the server, a row costs more than its bytes, and
 * an answer with a position has only 40 bytes.
 */

/** Format number of an answer with a body, since release 1.0. */
const FORMAT_OF_BODY = 2;

/**
 * Format numbers of an answer with a position, and of a slot. Release 1.0 cannot read these formats.
 * Only instances of models that release 1.0 lacks have such rows.
 */
const FORMAT_OF_POSITION = 3;
const FORMAT_OF_SLOT = 4;

/** Row of the table. A name has one content, or contents that other rows complete. */
export type NamedAnswers = {
  readonly name: string;
  readonly value: Buffer;
  /** Commit time of the newest answer in the row, in Unix milliseconds. */
  readonly atMs: number;
};

const writer = new ByteWriter();

/** Encodes an answer without its key. */
export function encodeAnswerRow(row: AnswerRow): Buffer {
  const { position, atMs, fingerprint } = row;
  if (position !== undefined) {
    writer.begin(FORMAT_OF_POSITION).number(atMs).shortText(fingerprint);
    return withPosition(position, 0).end();
  }
  return writer
    .begin(FORMAT_OF_BODY)
    .number(atMs)
    .text(fingerprint)
    .text(row.etag)
    .text(row.body)
    .end();
}

/** Decodes a stored answer. Throws `CorruptState`. */
export function decodeAnswerRow(instanceId: string, key: string, bytes: unknown): AnswerRow {
  const what = `the answer to ${key} of ${instanceId}`;
  if (Buffer.isBuffer(bytes) && bytes[0] === FORMAT_OF_POSITION) {
    const reader = readerOf(bytes, FORMAT_OF_POSITION, what);
    const atMs = reader.number();
    const fingerprint = reader.shortText();
    const position = {
      version: reader.whole(),
      generation: reader.whole(),
      cycle: reader.whole(),
    };
    reader.end();
    return { key, fingerprint, body: '', etag: '', atMs, position };
  }
  const reader = readerOf(bytes, FORMAT_OF_BODY, what);
  const row: AnswerRow = {
    key,
    atMs: reader.number(),
    fingerprint: reader.text(),
    etag: reader.text(),
    body: reader.text(),
  };
  reader.end();
  return row;
}

function withPosition(
  { version, generation, cycle }: AnswerPosition,
  firstVersion: number,
): ByteWriter {
  return writer
    .whole(version - firstVersion)
    .whole(generation)
    .whole(cycle);
}

/** Name prefix of a key of a call. */
const CALL = 'call:';

/** Name prefix of a slot. No key has this prefix. */
const SLOT = 'slot:';

/** A UUIDv7 in lower case after `CALL`. Its first eight digits are its time in 65,536 ms. */
const SLOTTED = /^call:[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A fingerprint of 128 bits. */
const FINGERPRINT = /^[0-9a-f]{32}$/;

const SLOT_DIGITS = 8;

/**
 * Maximum age of a key in a slot at its commit, and maximum time that the key may be ahead of the
 * clock, in milliseconds. Other keys get their own rows, so that a lookup in a slot reads only the
 * answers of about two minutes.
 */
const KEY_AGE_MS_MAX = 60_000;
const KEY_AHEAD_MS_MAX = 5_000;

/** Maximum number of answers in a row: 11 KB. */
const SLOT_ANSWERS_MAX = 256;

/**
 * Rows for answers of an instance. Each row of a slot is named by its newest version. If a row is
 * written again with fewer answers, the store has confirmed the others in other rows: a node drops
 * an answer from memory only after the store has confirmed the answer.
 */
export function* rowsOfAnswers(answers: Iterable<AnswerRow>): Generator<NamedAnswers> {
  const slots = new Map<string, SlottedRow[]>();
  // A key may occur twice in one write, with the same version. Only the newer answer is kept.
  for (const row of new Map([...answers].map((row) => [row.key, row])).values()) {
    if (isSlotted(row)) {
      const slot = slotOf(row.key);
      const rows = slots.get(slot);
      if (rows === undefined) slots.set(slot, [row]);
      else rows.push(row);
    } else yield { name: row.key, value: encodeAnswerRow(row), atMs: row.atMs };
  }
  for (const [slot, rows] of slots) {
    rows.sort((one, other) => one.position.version - other.position.version);
    for (let from = 0; from < rows.length; from += SLOT_ANSWERS_MAX) {
      const some = rows.slice(from, from + SLOT_ANSWERS_MAX);
      const version = some.at(-1)?.position.version ?? 0;
      const atMs = Math.max(...some.map((row) => row.atMs));
      yield { name: `${SLOT}${slot}:${version}`, value: encodeSlot(some), atMs };
    }
  }
}

type SlottedRow = AnswerRow & { readonly position: AnswerPosition };

function isSlotted(row: AnswerRow): row is SlottedRow {
  const { key, fingerprint, atMs, position } = row;
  if (position === undefined || !SLOTTED.test(key) || !FINGERPRINT.test(fingerprint)) return false;
  const start = CALL.length + SLOT_DIGITS;
  const madeAtMs = Number.parseInt(slotOf(key) + key.slice(start + 1, start + 5), 16);
  const isTimely = madeAtMs > atMs - KEY_AGE_MS_MAX && madeAtMs < atMs + KEY_AHEAD_MS_MAX;
  return isTimely && Number.isSafeInteger(atMs);
}

function slotOf(key: string): string {
  return key.slice(CALL.length, CALL.length + SLOT_DIGITS);
}

/** Names of the rows of a slot: all names between `after` and `before`. */
export type SlotNames = { readonly after: string; readonly before: string };

/** Names of the rows that may have the answer to a key besides its own row; undefined: none. */
export function slotNamesOf(key: string): SlotNames | undefined {
  if (!SLOTTED.test(key)) return undefined;
  const name = SLOT + slotOf(key);
  // The character `;` follows `:`.
  return { after: `${name}:`, before: `${name};` };
}

/** Digits of a key and a fingerprint in a slot. */
const KEY_DIGITS = 32;
const ROW_DIGITS = 64;

function encodeSlot(rows: readonly SlottedRow[]): Buffer {
  const digits = rows.map(({ key, fingerprint }) => digitsOf(key) + fingerprint).join('');
  const firstMs = Math.min(...rows.map(({ atMs }) => atMs));
  const firstVersion = rows[0]?.position.version ?? 0;
  writer
    .begin(FORMAT_OF_SLOT)
    .number(firstMs)
    .whole(firstVersion)
    .part(Buffer.from(digits, 'hex').toString('latin1'));
  for (const { atMs, position } of rows) {
    writer.whole(atMs - firstMs);
    withPosition(position, firstVersion);
  }
  return writer.end();
}

function digitsOf(key: string): string {
  return key.slice(CALL.length).replaceAll('-', '');
}

/**
 * Answers in a row of the table, in the order of their versions; with `key` only the answer to this
 * key. Throws `CorruptState`.
 */
export function answersIn(
  instanceId: string,
  name: string,
  bytes: unknown,
  key?: string,
): readonly AnswerRow[] {
  if (!name.startsWith(SLOT)) return [decodeAnswerRow(instanceId, name, bytes)];
  const reader = readerOf(bytes, FORMAT_OF_SLOT, `the answers ${name} of ${instanceId}`);
  const firstMs = reader.number();
  const firstVersion = reader.whole();
  const digits = Buffer.from(reader.part(), 'latin1').toString('hex');
  // Most rows of a slot do not have the key.
  if (key !== undefined && !digits.includes(digitsOf(key))) return [];
  const rows: AnswerRow[] = [];
  for (let at = 0; at < digits.length; at += ROW_DIGITS) {
    const atMs = firstMs + reader.whole();
    const version = firstVersion + reader.whole();
    const position = { version, generation: reader.whole(), cycle: reader.whole() };
    const fingerprint = digits.slice(at + KEY_DIGITS, at + ROW_DIGITS);
    const row = { key: keyOf(digits, at), fingerprint, body: '', etag: '', atMs, position };
    if (key === undefined || row.key === key) rows.push(row);
  }
  reader.end();
  return rows;
}

function keyOf(digits: string, at: number): string {
  const part = (from: number, to: number) => digits.slice(at + from, at + to);
  return `${CALL}${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}

/** The newest of the answers to a key; undefined if there is none. */
export function newestAnswer(rows: readonly AnswerRow[]): AnswerRow | undefined {
  return rows.reduce<AnswerRow | undefined>(
    (newest, row) => (newest === undefined || row.atMs >= newest.atMs ? row : newest),
    undefined,
  );
}
