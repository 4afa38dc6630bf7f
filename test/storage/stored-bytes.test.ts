import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deviationJson } from '#engine/json';
import { newReport, readReport } from '#identity/report';
import { createState } from '#identity/state';
import { BUCKET_ROWS, bucketOf, rangesOf } from '#storage/cassandra/chunks';
import { batchesOf, type RowWrite } from '#storage/cassandra/statements';
import { decodeAnswerRow, encodeAnswerRow, rowsOfAnswers } from '#storage/ports/answer-rows';
import { ByteWriter, CorruptState } from '#storage/ports/bytes';
import * as rowCodec from '#storage/ports/chunks';
import { decodeHead, encodeHead } from '#storage/ports/head-codec';
import type { Chunk, DriftRow } from '#storage/ports/instances';
import { decodeMeter, encodeMeter } from '#storage/ports/meter-codec';
import { DRIFT_EVENTS, OBSERVATIONS, unpacked } from '#storage/ports/rows';
import { meterAt, reservations } from '#test/storage/contracts/meter-records';
import {
  answerRow,
  driftChunks,
  driftRows,
  headAt,
  historyChunks,
  markerAt,
} from '#test/storage/contracts/rows';

/**
 * Maximum size of a batch in bytes. Cassandra's own limit of 50 KiB applies only to batches of
 * several partitions.
 */
const BATCH_BYTES_MAX = 64 * 1_024;

/** Rows of a chunk, in the form of a head's newest rows. */
const newest = ([chunk]: readonly Chunk[]) => ({
  after: (chunk?.first ?? 1) - 1,
  rows: chunk?.rows ?? '',
});

const report = newReport();

const bytes = suite('a stored value');

bytes('of an answer shares a row only with keys of its time, so that lookups stay short', () => {
  const key = (hex: string) => `call:${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`;
  const madeAtMs = 1_768_478_400_000;
  const position = { version: 3, generation: 1, cycle: 2 };
  const named = (atMs: number) => {
    const fields = { fingerprint: 'f'.repeat(32), body: '', etag: '', position };
    const row = answerRow(key(madeAtMs.toString(16).padStart(12, '0')), atMs, fields);
    return rowsOfAnswers([row]).next().value?.name.slice(0, 5);
  };
  assert.is(named(madeAtMs + 59_999), 'slot:');
  assert.is(named(madeAtMs + 60_000), 'call:');
  assert.is(named(madeAtMs - 4_999), 'slot:');
  assert.is(named(madeAtMs - 5_000), 'call:');
});

bytes('is decoded unchanged: heads, markers, rows, answers and meters', () => {
  for (const head of [headAt(3), markerAt(9), headAt(1, { model: new Float64Array(0) })]) {
    assert.equal(decodeHead('inst_1', encodeHead(head)), head);
  }
  for (const chunk of [...historyChunks(1, 20), ...driftChunks(8, 9)]) {
    assert.equal(rowCodec.decodeChunk('row', 'i', chunk.last, rowCodec.encodeChunk(chunk)), chunk);
  }
  const rows = {
    newestHistory: newest(historyChunks(4, 9)),
    newestDrift: newest(driftChunks(1, 8)),
  };
  assert.equal(decodeHead('inst_1', encodeHead(headAt(9, rows))), headAt(9, rows));
  const answer = answerRow('call:é', 5);
  const encoded = encodeAnswerRow(answer);
  assert.equal(decodeAnswerRow('i', answer.key, encoded), answer);
  const position = { version: 2 ** 40, generation: 3, cycle: 2 ** 33 };
  const placed = answerRow('call:é', 5.5, { fingerprint: 'f', body: '', etag: '', position });
  assert.equal(decodeAnswerRow('i', placed.key, encodeAnswerRow(placed)), placed);
  for (const meter of [meterAt(1), meterAt(2 ** 40, { reservations: reservations(1_000) })]) {
    assert.equal(decodeMeter('a', encodeMeter(meter)), meter);
  }
});

bytes('of a head has no byte for tags without tags, and keeps tags with a floor', () => {
  const tagsJson = '{"team":"é"}';
  const head = headAt(3);
  const addedBytes = encodeHead({ ...head, tagsJson }).length - encodeHead(head).length;
  assert.is(addedBytes, 4 + Buffer.byteLength(tagsJson));
  const floor = { history: 2, drift: 1, generation: 1, cycle: 2, timestampMs: 5, state: 'state' };
  const full = headAt(9, { tagsJson, floor });
  assert.equal(decodeHead('inst_1', encodeHead(full)), full);
});

bytes('of a head has 24 bytes for the time of its newest change, and none without it', () => {
  const head = headAt(3);
  const full = headAt(9, { tagsJson: '{"team":"docs"}', changedAtMs: 12_345 });
  assert.equal(decodeHead('inst_1', encodeHead(full)), full);
  assert.is(encodeHead({ ...head, changedAtMs: 7 }).length - encodeHead(head).length, 24);
});

bytes('keeps every bit of numbers and every character of texts', () => {
  const double = fc.double({ noNaN: true });
  const property = fc.property(
    fc.record({
      version: fc.maxSafeNat(),
      name: fc.string({ unit: 'grapheme' }),
      description: fc.string({ unit: 'grapheme', maxLength: 3_000 }),
      observedAtMs: fc.option(fc.maxSafeNat(), { nil: undefined }),
      deletedAtMs: fc.option(fc.maxSafeNat(), { nil: undefined }),
      model: fc.float64Array({ noNaN: true, maxLength: 100 }),
      originMs: double,
    }),
    (fields) => {
      const head = headAt(1, fields);
      const decoded = decodeHead('inst_1', encodeHead(head));
      assert.equal(decoded, head);
      assert.ok(decoded.model.every((value, index) => Object.is(value, head.model[index])));
    },
  );
  fc.assert(property, { numRuns: 200 });
});

const double = fc.oneof(
  fc.double({ noNaN: true }),
  fc.nat(10_000).map((count) => count / 10_000),
);
const time = fc.oneof(fc.maxSafeNat(), fc.double({ noNaN: true }), fc.constant(-0));
const place = { ordinal: fc.constant(7), generation: fc.maxSafeNat(), cycle: fc.maxSafeNat() };

bytes('keeps every bit and character of packed observations', () => {
  const row = fc.record({
    ...place,
    mode: fc.nat(6),
    signal: double,
    confidence: double,
    contextJson: fc.oneof(fc.constant('{}'), fc.string({ unit: 'grapheme', maxLength: 300 })),
    timestampMs: time,
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
      const packed = rows.map(OBSERVATIONS.pack).join('');
      const expected = rows.map((one, index) => ({ ...one, ordinal: 5 + index }));
      assert.ok(sameRows(unpacked(OBSERVATIONS, 'i', packed, 5, 4 + rows.length), expected));
    }),
  );
});

bytes('keeps every bit and character of packed drift events', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.constantFrom(...driftTexts()),
    fc.array(fc.constantFrom(...driftTexts(), '\u0000', 'é')).map((parts) => parts.join('')),
  );
  const row = fc.record({
    ...place,
    level: fc.constantFrom('D1', 'D2', 'D3'),
    deviationJson: text,
    affectedModesJson: text,
    isRolledBack: fc.boolean(),
    timestampMs: time,
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
      const packed = rows.map(DRIFT_EVENTS.pack).join('');
      const expected = rows.map((one, index) => ({ ...one, ordinal: 1 + index }));
      assert.ok(sameRows(unpacked(DRIFT_EVENTS, 'i', packed, 1, rows.length), expected));
    }),
  );
});

bytes('is rejected and named if it has a flag of a later release', () => {
  const unknown = /flags that this program does not know: /;
  const head = encodeHead(headAt(3)).subarray(0, -4);
  head[1] = (head[1] ?? 0) | 16;
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(head));
  assert.throws(() => decodeHead('inst_1', Buffer.concat([head, sum])), unknown);
  const [history] = historyChunks(1, 1);
  const [drift] = driftChunks(1, 1);
  const flagged = (rows = '', flag = 0) =>
    String.fromCharCode(rows.charCodeAt(0) | flag) + rows.slice(1);
  assert.throws(() => unpacked(OBSERVATIONS, 'i', flagged(history?.rows, 128), 1, 1), unknown);
  assert.throws(() => unpacked(DRIFT_EVENTS, 'i', flagged(drift?.rows, 4), 1, 1), unknown);
});

bytes('is rejected and named if the count of packed rows is wrong', () => {
  const [chunk = { first: 1, last: 0, rows: '' }] = historyChunks(3, 9);
  const read = (rows: string, last: number) => unpacked(OBSERVATIONS, 'inst_1', rows, 3, last);
  assertCorrupt(() => read(chunk.rows, 10), /^observations 3 to 10 of inst_1 are 7 rows/);
  assertCorrupt(() => read(chunk.rows.slice(0, -1), 9), /^observations 3 to 9 of inst_1 ends too/);
  assertCorrupt(() => read('', 3), /^observations 3 to 3 of inst_1 are 0 rows/);
});

bytes('of a drift event takes less than half the size of its JSON', () => {
  readReport(createState({ modeStrengths: [1, 0, 0, 0, 0, 0, 0], energyLevel: 1 }), report);
  const row = { ...driftRows(1, 1)[0], deviationJson: deviationJson(report) } as DriftRow;
  const packed = DRIFT_EVENTS.pack(row);
  const bytes = packed.length;
  assert.ok(2 * bytes < row.deviationJson.length, `${bytes} of ${row.deviationJson.length}`);
  // The size decides where chunks end, so it must not change with the way of replacing phrases.
  assert.is(bytes, 216);
});

bytes('of a head is hardly larger than its doubles', () => {
  const head = headAt(1, { recentCalls: [] });
  assert.ok(encodeHead(head).length < 8 * head.model.length + 200);
});

bytes('is rejected and named if any byte is damaged', () => {
  const whole = encodeHead(headAt(3));
  for (let at = 0; at < whole.length; at += 1) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
    assertCorrupt(() => decodeHead('inst_1', damaged), /^the head of inst_1 does not match/);
  }
  const meter = encodeMeter(meterAt(3));
  for (let at = 0; at < meter.length; at += 1) {
    const damaged = Buffer.from(meter);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    assertCorrupt(() => decodeMeter('a', damaged), /^the meter of a does not match/);
  }
});

bytes('is rejected and named if it is intact but not a valid meter', () => {
  for (const json of ['[0,1,2', '{}', '[0,1,2,0,0,0,0]']) {
    const whole = new ByteWriter().begin(1).number(7).text(json).end();
    assertCorrupt(() => decodeMeter('a', whole), /^the meter of a cannot be read/);
  }
  const longer = new ByteWriter().begin(1).number(7).text('[0,0,0,0,0,0,0]').byte(0).end();
  assertCorrupt(() => decodeMeter('a', longer), /^the meter of a has 1 bytes too many/);
});

bytes('is rejected and named if it is too short, missing or of another format', () => {
  const whole = encodeHead(headAt(3));
  assertCorrupt(() => decodeHead('inst_1', whole.subarray(0, 100)), /^the head of inst_1 does not/);
  assertCorrupt(
    () => decodeHead('inst_1', Buffer.alloc(3)),
    /^the head of inst_1 has only 3 bytes/,
  );
  assertCorrupt(() => decodeHead('inst_1', null), /^the head of inst_1 does not exist/);
  const row = encodeAnswerRow(answerRow('a', 5));
  const decode = () => rowCodec.decodeChunk('drift event', 'inst_1', 7, row);
  assertCorrupt(decode, /^the chunk of drift events up to 7 of inst_1/);
});

const batches = suite('rows of a checkpoint');

batches('are written in ordered batches per partition, below the size bound', () => {
  const arbitrary = fc.array(
    fc.record({ partition: fc.nat(2), valueBytes: fc.integer({ min: 50, max: 20_000 }) }),
    { maxLength: 200 },
  );
  const property = fc.property(arbitrary, (sizes) => {
    const writes = sizes
      .toSorted((a, b) => a.partition - b.partition)
      .map((size, index): RowWrite => ({ ...size, statement: { query: '', params: [index] } }));
    const made = [...batchesOf(writes)];
    assert.equal(
      made.flat().map(({ params }) => params[0]),
      writes.map((_, index) => index),
    );
    for (const batch of made) {
      const own = batch.map(({ params }) => writes[Number(params[0])]);
      assert.is(new Set(own.map((one) => one?.partition)).size, 1);
      const size = own.reduce((sum, one) => sum + (one?.valueBytes ?? 0), 0);
      assert.ok(size < BATCH_BYTES_MAX, `${size} bytes`);
    }
  });
  fc.assert(property, { numRuns: 100 });
});

batches('of typical size are one batch', () => {
  const statement = { query: '', params: [] };
  const write = { partition: 3, statement, valueBytes: 250 };
  assert.is([...batchesOf(Array.from({ length: 100 }, () => write))].length, 1);
  assert.equal([...batchesOf([])], []);
});

const buckets = suite('ordinals in buckets');

buckets('are covered once, newest first, each in its own bucket', () => {
  const property = fc.property(fc.nat(20_000), fc.nat(10_000), (newest, count) => {
    const ranges = rangesOf(newest, count);
    let expected = newest;
    for (const range of ranges) {
      assert.is(range.newest, expected);
      assert.ok(range.after < range.newest && range.newest - range.after <= BUCKET_ROWS);
      assert.is(bucketOf(range.newest), range.bucket);
      assert.is(bucketOf(range.after + 1), range.bucket);
      expected = range.after;
    }
    assert.is(expected, Math.max(0, newest - count));
  });
  fc.assert(property);
});

for (const part of [bytes, batches, buckets]) part.run();

/** Whether rows are equal, distinguishing 0 from -0. */
function sameRows(found: readonly object[], expected: readonly object[]): boolean {
  return isDeepStrictEqual(found, expected);
}

/** Texts from drift events, whole and in parts. */
function driftTexts(): string[] {
  readReport(createState({ modeStrengths: [0, 0, 0, 0, 0, 0, 0], energyLevel: 1 }), report);
  const json = deviationJson(report);
  return [json, json.slice(0, 300), json.slice(200), ',"contribution":', '{"mode":"order","z":'];
}

function assertCorrupt(decode: () => unknown, message: RegExp): void {
  assert.throws(decode, (error: unknown) => {
    assert.instance(error, CorruptState);
    assert.match((error as CorruptState).message, message);
    return true;
  });
}
