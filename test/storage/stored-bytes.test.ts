import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CorruptState } from '#storage/byte-reader';
import { ByteWriter } from '#storage/byte-writer';
import { decodeHead, encodeHead } from '#storage/cassandra/head-codec';
import { decodeMeter, encodeMeter } from '#storage/cassandra/meter-codec';
import { batchesOf, type RowWrite } from '#storage/cassandra/row-batches';
import { BUCKET_ROWS, bucketOf, rangesOf } from '#storage/cassandra/row-buckets';
import * as rowCodec from '#storage/cassandra/row-codec';
import type { Chunk } from '#storage/instance-store';
import {
  answerRow,
  driftChunks,
  headAt,
  historyChunks,
  markerAt,
} from '#test/storage/instance-rows';
import { meterAt, reservations } from '#test/storage/meter-records';

/** What Cassandra refuses in a batch of several partitions is 50 KiB; ours stay below this. */
const BATCH_BYTES_MAX = 64 * 1_024;

/** Rows as a head has them in it. */
const newest = ([chunk]: readonly Chunk[]) => ({
  after: (chunk?.first ?? 1) - 1,
  rows: chunk?.rows ?? '',
});

const bytes = suite('a stored value');

bytes('comes back as it was: heads, markers, rows, answers and meters', () => {
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
  const encoded = rowCodec.encodeAnswerRow(answer);
  assert.equal(rowCodec.decodeAnswerRow('i', answer.key, encoded), answer);
  for (const meter of [meterAt(1), meterAt(2 ** 40, { reservations: reservations(1_000) })]) {
    assert.equal(decodeMeter('a', encodeMeter(meter)), meter);
  }
});

bytes('keeps numbers to the last bit and texts to the last character', () => {
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

bytes('of a head is compact: its doubles and little more', () => {
  const head = headAt(1, { recentCalls: [] });
  assert.ok(encodeHead(head).length < 8 * head.model.length + 200);
});

bytes('that was damaged in any byte is refused by name', () => {
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

bytes('that is whole but makes no sense as a meter is refused by name', () => {
  for (const json of ['[0,1,2', '{}', '[0,1,2,0,0,0,0]']) {
    const whole = new ByteWriter().begin(1).number(7).text(json).end();
    assertCorrupt(() => decodeMeter('a', whole), /^the meter of a cannot be read/);
  }
  const longer = new ByteWriter().begin(1).number(7).text('[0,0,0,0,0,0,0]').byte(0).end();
  assertCorrupt(() => decodeMeter('a', longer), /^the meter of a has 1 bytes too many/);
});

bytes('that is too short, missing or of another format is refused by name', () => {
  const whole = encodeHead(headAt(3));
  assertCorrupt(() => decodeHead('inst_1', whole.subarray(0, 100)), /^the head of inst_1 does not/);
  assertCorrupt(
    () => decodeHead('inst_1', Buffer.alloc(3)),
    /^the head of inst_1 has only 3 bytes/,
  );
  assertCorrupt(() => decodeHead('inst_1', null), /^the head of inst_1 is not there/);
  const row = rowCodec.encodeAnswerRow(answerRow('a', 5));
  const decode = () => rowCodec.decodeChunk('drift event', 'inst_1', 7, row);
  assertCorrupt(decode, /^the chunk of drift events up to 7 of inst_1/);
});

const batches = suite('rows of a checkpoint');

batches('go in batches of one partition, in order, below the bound', () => {
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

batches('of a usual size are one batch', () => {
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

function assertCorrupt(decode: () => unknown, message: RegExp): void {
  assert.throws(decode, (error: unknown) => {
    assert.instance(error, CorruptState);
    assert.match((error as CorruptState).message, message);
    return true;
  });
}
