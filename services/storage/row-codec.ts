import { readerOf } from '#storage/byte-reader';
import { ByteWriter } from '#storage/byte-writer';
import type { AnswerRow, Chunk } from '#storage/instance-store';

/*
 * Chunks and answers as one value each, without what stands in their keys: a cell costs the server
 * more than the bytes in it, and one value cannot be half of one write and half of another.
 */

/** What the first byte of every stored row says. A change of a layout below is another format. */
const FORMAT = 2;

const writer = new ByteWriter();

/** A chunk as it is stored, without its last ordinal: what its rows take and 17 bytes. */
export function encodeChunk({ first, rows }: Chunk): Buffer {
  return writer.begin(FORMAT).number(first).part(rows).end();
}

/** A chunk from its stored bytes; `name` is what its rows are called. Throws `CorruptState`. */
export function decodeChunk(name: string, instanceId: string, last: number, bytes: unknown): Chunk {
  const what = `the chunk of ${name}s up to ${last} of ${instanceId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const chunk = { first: reader.number(), last, rows: reader.part() };
  reader.end();
  return chunk;
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
  const reader = readerOf(bytes, FORMAT, `the answer to ${key} of ${instanceId}`);
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
