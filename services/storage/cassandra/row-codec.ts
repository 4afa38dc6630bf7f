import { ByteReader } from '#storage/cassandra/byte-reader';
import { ByteWriter } from '#storage/cassandra/byte-writer';
import type { AnswerRow, DriftRow, HistoryRow } from '#storage/instance-store';

/*
 * Rows as one value each, without what stands in their keys: a cell costs the server more than the
 * bytes in it, and one value cannot be half of one write and half of another.
 */

/** What the first byte of every stored row says. A change of a layout below is another format. */
const FORMAT = 1;

const writer = new ByteWriter();

/** An observation as it is stored, without its ordinal: 54 bytes and its context. */
export function encodeHistoryRow(row: HistoryRow): Buffer {
  return writer
    .begin(FORMAT)
    .byte(row.mode)
    .number(row.generation)
    .number(row.cycle)
    .number(row.signal)
    .number(row.confidence)
    .number(row.timestampMs)
    .text(row.contextJson)
    .end();
}

/** An observation from its stored bytes. Throws `CorruptState`. */
export function decodeHistoryRow(instanceId: string, ordinal: number, bytes: unknown): HistoryRow {
  const reader = new ByteReader(bytes, FORMAT, `observation ${ordinal} of ${instanceId}`);
  const mode = reader.byte();
  const row: HistoryRow = {
    ordinal,
    generation: reader.number(),
    cycle: reader.number(),
    mode,
    signal: reader.number(),
    confidence: reader.number(),
    timestampMs: reader.number(),
    contextJson: reader.text(),
  };
  reader.end();
  return row;
}

/** A drift event as it is stored, without its ordinal. */
export function encodeDriftRow(row: DriftRow): Buffer {
  return writer
    .begin(FORMAT)
    .byte(row.isRolledBack ? 1 : 0)
    .number(row.generation)
    .number(row.cycle)
    .number(row.timestampMs)
    .text(row.level)
    .text(row.deviationJson)
    .text(row.affectedModesJson)
    .end();
}

/** A drift event from its stored bytes. Throws `CorruptState`. */
export function decodeDriftRow(instanceId: string, ordinal: number, bytes: unknown): DriftRow {
  const reader = new ByteReader(bytes, FORMAT, `drift event ${ordinal} of ${instanceId}`);
  const isRolledBack = reader.byte() === 1;
  const row: DriftRow = {
    ordinal,
    isRolledBack,
    generation: reader.number(),
    cycle: reader.number(),
    timestampMs: reader.number(),
    level: reader.text(),
    deviationJson: reader.text(),
    affectedModesJson: reader.text(),
  };
  reader.end();
  return row;
}

/** A stored answer without its key. */
export function encodeAnswerRow(row: AnswerRow): Buffer {
  return writer
    .begin(FORMAT)
    .number(row.atMs)
    .text(row.fingerprint)
    .text(row.etag)
    .text(row.body)
    .end();
}

/** A stored answer from its bytes. Throws `CorruptState`. */
export function decodeAnswerRow(instanceId: string, key: string, bytes: unknown): AnswerRow {
  const reader = new ByteReader(bytes, FORMAT, `the answer to ${key} of ${instanceId}`);
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
