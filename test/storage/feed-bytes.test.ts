import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ByteWriter, CorruptState } from '#storage/ports/bytes';
import {
  decodeFeedChunk,
  decodeFeedHead,
  encodeFeedChunk,
  encodeFeedHead,
} from '#storage/ports/feed-codec';
import { FEED_CHUNK_ROWS, type FeedHead, type FeedRow } from '#storage/ports/feeds';
import { feedChunk, feedHead, feedRow } from '#test/storage/contracts/feed-records';

const bytes = suite('the stored bytes of a feed');

const anyRow: fc.Arbitrary<FeedRow> = fc.tuple(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc.maxSafeNat(),
  fc.maxSafeNat(),
  fc.array(
    fc
      .tuple(
        fc.nat(20),
        fc.maxSafeNat(),
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
      )
      .map(([type, cycle, values]) => [type, cycle, ...values]),
  ),
);

bytes('keep every number and character of a row', () => {
  const property = fc.property(anyRow, fc.nat(FEED_CHUNK_ROWS - 1), (row, place) => {
    const head = { ...feedHead(1, 300), newest: Array(300 % FEED_CHUNK_ROWS).fill(row) };
    assert.equal(decodeFeedHead('acc_1', encodeFeedHead(head)), head);
    const rows = feedChunk(7).rows.with(place, row);
    assert.equal(decodeFeedChunk('acc_1', 7, encodeFeedChunk({ chunk: 7, rows })).rows, rows);
  });
  fc.assert(property, { numRuns: 100 });
});

bytes('are rejected with the name of the feed or chunk if any byte is damaged', () => {
  const head = encodeFeedHead(feedHead(2, 259));
  const decodeHead = (damaged: Buffer) => decodeFeedHead('acc_1', damaged);
  eachDamaged(head, decodeHead, /^the feed of acc_1 does not match its checksum/);
  const chunk = encodeFeedChunk(feedChunk(3));
  const decodeChunk = (damaged: Buffer) => decodeFeedChunk('acc_1', 3, damaged);
  eachDamaged(chunk, decodeChunk, /^chunk 3 of the feed of acc_1 does not match its checksum/);
});

bytes('are rejected if they are missing, of a later format, or too long', () => {
  for (const decode of [
    (some: unknown) => decodeFeedHead('acc_1', some),
    (some: unknown) => decodeFeedChunk('acc_1', 0, some),
  ]) {
    assertCorrupt(() => decode(null), /does not exist$/);
    const later = new ByteWriter().begin(2).number(0).text('[]').end();
    assertCorrupt(() => decode(later), /has format 2; this program reads format 1$/);
    const longer = new ByteWriter().begin(1).number(0).text('[0,0,[],[]]').byte(0).end();
    assertCorrupt(() => decode(longer), /has 1 bytes too many$/);
  }
});

bytes('of a chunk are rejected under the number of another chunk', () => {
  const stored = encodeFeedChunk(feedChunk(3));
  const expected = /^chunk 4 of the feed of acc_1 has the number 3$/;
  assertCorrupt(() => decodeFeedChunk('acc_1', 4, stored), expected);
});

bytes('of a row take less than 100 bytes', () => {
  const size = encodeFeedChunk(feedChunk(3)).length;
  assert.ok(size < 100 * FEED_CHUNK_ROWS, `${size} bytes`);
});

const invalid = suite('an invalid feed');

const whole = feedHead(5, 515, 260);
const [row] = whole.newest;
const [hour = 0] = whole.hours[0] ?? [];

const heads: readonly [string, Partial<Record<keyof FeedHead, unknown>>][] = [
  ['a negative version', { version: -1 }],
  ['a fraction as the next position', { next: 515.5 }],
  ['a text as the floor', { floor: '260' }],
  ['a floor above the next position', { floor: 516, hours: [] }],
  ['too few newest rows', { newest: whole.newest.slice(1) }],
  ['newest rows of a whole chunk', { next: 512, newest: feedChunk(1).rows }],
  [
    'more newest rows than rows',
    { next: 2, floor: 0, hours: [[hour, 0]], newest: [row, row, row] },
  ],
  ['no list of newest rows', { newest: { length: 3 } }],
  ['no list of hours', { hours: {} }],
  ['an hour that is not a pair', { hours: [[hour, 0, 0]] }],
  ['an hour that is not a number', { hours: [['1', 0]] }],
  [
    'hours out of order',
    {
      hours: [
        [hour, 0],
        [hour, 7],
      ],
    },
  ],
  [
    'hours whose rows are out of order',
    {
      hours: [
        [hour, 9],
        [hour + 1, 9],
      ],
    },
  ],
  [
    'an hour without rows',
    {
      hours: [
        [hour, 0],
        [hour + 1, 515],
      ],
    },
  ],
  ['a floor below the first hour', { hours: [[hour, 261]] }],
  ['no hour for its rows', { hours: [] }],
  ['more than 169 hours', { hours: Array.from({ length: 170 }, (_, n) => [hour + n, n]) }],
];
for (const [what, fields] of heads) {
  invalid(`is rejected if it has ${what}, on write and read`, () => {
    const head = { ...whole, ...fields } as FeedHead;
    assert.throws(() => encodeFeedHead(head), /^a stored feed is invalid: /);
    assertCorrupt(
      () => decodeFeedHead('acc_1', unchecked(head)),
      /^the feed of acc_1 cannot be read$/,
    );
  });
}

const rows: readonly [string, unknown][] = [
  ['is not a list', { length: 4 }],
  ['has a field too many', [...feedRow(0), 1]],
  ['lacks its transitions', feedRow(0).slice(0, 3)],
  ['has an empty instance', ['', 1, 1, []]],
  ['has a number as its instance', [7, 1, 1, []]],
  ['has a negative version', ['i', -1, 1, []]],
  ['has a text as its time', ['i', 1, '1', []]],
  ['has no list of transitions', ['i', 1, 1, {}]],
  ['has a transition that is not a list', ['i', 1, 1, [7]]],
  ['has a transition without a cycle', ['i', 1, 1, [[7]]]],
  ['has a transition with a fraction as its type', ['i', 1, 1, [[0.5, 1]]]],
  ['has a transition with a text', ['i', 1, 1, [[0, 1, '2']]]],
];
for (const [what, strange] of rows) {
  invalid(`is rejected if a row ${what}, on write and read`, () => {
    const head = { ...whole, newest: whole.newest.with(1, strange as FeedRow) };
    assert.throws(() => encodeFeedHead(head), /^a stored feed is invalid: /);
    assertCorrupt(
      () => decodeFeedHead('acc_1', unchecked(head)),
      /^the feed of acc_1 cannot be read$/,
    );
    const chunk = { chunk: 3, rows: feedChunk(3).rows.with(200, strange as FeedRow) };
    assert.throws(() => encodeFeedChunk(chunk), /^a stored feed is invalid: /);
    const stored = new ByteWriter().begin(1).number(3).text(JSON.stringify(chunk.rows)).end();
    const expected = /^chunk 3 of the feed of acc_1 cannot be read$/;
    assertCorrupt(() => decodeFeedChunk('acc_1', 3, stored), expected);
  });
}

invalid('is rejected if a chunk has another number of rows', () => {
  for (const some of [feedChunk(0).rows.slice(1), [...feedChunk(0).rows, feedRow(256)]]) {
    assert.throws(() => encodeFeedChunk({ chunk: 0, rows: some }), /rows, not 256$/);
    const stored = new ByteWriter().begin(1).number(0).text(JSON.stringify(some)).end();
    assertCorrupt(() => decodeFeedChunk('acc_1', 0, stored), /cannot be read$/);
  }
});

invalid('is rejected if its JSON is not a list of four, or is cut off', () => {
  for (const json of ['[515,260,[]', '{}', '[0,0,[]]', '[0,0,[],[],0]']) {
    const stored = new ByteWriter().begin(1).number(1).text(json).end();
    assertCorrupt(() => decodeFeedHead('acc_1', stored), /^the feed of acc_1 cannot be read$/);
  }
});

for (const part of [bytes, invalid]) part.run();

/** Encodes a head without checks. A change of this layout requires a new format number. */
function unchecked({ version, next, floor, hours, newest }: FeedHead): Buffer {
  const json = JSON.stringify([next, floor, hours, newest]);
  return new ByteWriter().begin(1).number(version).text(json).end();
}

function eachDamaged(whole: Buffer, decode: (damaged: Buffer) => unknown, message: RegExp): void {
  for (let at = 0; at < whole.length; at += 1) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
    assertCorrupt(() => decode(damaged), message);
  }
}

function assertCorrupt(decode: () => unknown, message: RegExp): void {
  assert.throws(decode, (error: unknown) => {
    assert.instance(error, CorruptState);
    assert.match((error as CorruptState).message, message);
    return true;
  });
}
