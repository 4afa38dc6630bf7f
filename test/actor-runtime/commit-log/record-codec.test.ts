import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  actorOf,
  CorruptJournal,
  cutLoose,
  decodeGroup,
  encodeGroup,
  encodeRecord,
  linesOf,
} from '#actor-runtime/record-codec';
import type { JournalRecord } from '#storage/ports/journal';
import {
  groupOf,
  lineOf,
  recordOf,
  recordsOf,
} from '#test/actor-runtime/commit-log/journal-records';

const group = suite('a group of records');

const anyRecord: fc.Arbitrary<JournalRecord> = fc.record({
  actor: fc.constantFrom('instance', 'directory'),
  actorId: fc.string({ unit: 'grapheme' }),
  version: fc.maxSafeNat(),
  callId: fc.maxSafeNat(),
  atMs: fc.integer(),
  event: fc.jsonValue({ noUnicodeString: false }),
});

group('is JSON, and is decoded to exactly the same records', () => {
  const property = fc.property(fc.array(anyRecord), (records) => {
    const bytes = groupOf(records);
    assert.is(JSON.stringify(decodeGroup(bytes)), JSON.stringify(records));
    const rows = JSON.parse(Buffer.from(bytes).toString())[1];
    assert.is(JSON.stringify(rows), `[${records.map(encodeRecord)}]`);
  });
  fc.assert(property, { numRuns: 50 });
});

group('is split into its original lines with their actor ids', () => {
  const property = fc.property(fc.array(anyRecord), (records) => {
    const lines = records.map(encodeRecord);
    assert.equal(linesOf(encodeGroup(lines)), lines);
    assert.equal(cutLoose(lines), lines);
    const actors = records.map(({ actor, actorId }) => [actor, actorId]);
    const found = lines.map(actorOf).map(({ actor, actorId }) => [actor, actorId]);
    assert.equal(found, actors);
  });
  fc.assert(property, { numRuns: 50 });
});

group('may contain text that looks like a line end or like another record', () => {
  for (const event of [',\n', '\n]]', '"],\n["instance","b",1,1,0,1]', [[]], '\u2028\r']) {
    const ids = ['"],["', 'a",', 'back\\slash', 'two\nlines', 'a'];
    const records = ids.map((actorId) => recordOf({ actorId, event }));
    assert.equal(decodeGroup(groupOf(records)), records);
    const found = linesOf(groupOf(records)).map((line) => actorOf(line).actorId);
    assert.equal(found, ids);
  }
});

group('of a later format is refused, with its format number', () => {
  const later = Buffer.from(`${Buffer.from(groupOf(recordsOf('a', [1])))}`.replace('[1,', '[2,'));
  assert.throws(() => linesOf(later), /a group of format 2; this program reads format 1/);
});

group('is also read from JSON without line breaks', () => {
  const records = recordsOf('a', [1, 2]);
  const spelled = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(groupOf(records)).toString())));
  assert.not.equal(spelled, Buffer.from(groupOf(records)));
  assert.equal(decodeGroup(spelled), records);
  assert.equal(linesOf(spelled), records.map(encodeRecord));
});

group('may be empty', () => {
  assert.equal(decodeGroup(encodeGroup([])), []);
  assert.equal(decodeGroup(Buffer.from('[1,[]]')), []);
});

const broken = suite('bytes that are not a group of records');

const wrong: [string, string][] = [
  ['are not JSON', '[1,[['],
  ['have another format', '[2,[]]'],
  ['are not a list of records', '[1,{}]'],
  ['contain a value that is not a record', '[1,["a"]]'],
  ['lack an event', '[1,[["instance","a",1,1,0]]]'],
  ['have a line that is not JSON', '[1,[\n["instance","a",1,1,0,{]\n]]'],
  ['have an extra line', '[1,[\n["instance","a",1,1,0,1],\n\n]]'],
  ['have a version that is not a whole number', '[1,[["instance","a",1.5,1,0,1]]]'],
  ['have a negative version', '[1,[["instance","a",-1,1,0,1]]]'],
  ['have a call id that is too large', '[1,[["instance","a",1,9007199254740992,0,1]]]'],
  ['have no actor', '[1,[[null,"a",1,1,0,1]]]'],
];
for (const [circumstance, text] of wrong) {
  broken(`are reported as corrupt when they ${circumstance}`, () => {
    assert.throws(
      () => decodeGroup(Buffer.from(text)),
      (e: unknown) => e instanceof CorruptJournal,
    );
  });
}

broken('are reported as corrupt when they are truncated or not UTF-8', () => {
  const bytes = encodeGroup([lineOf({ actorId: 'ü' })]);
  const isCorrupt = (e: unknown) => e instanceof CorruptJournal;
  assert.throws(() => decodeGroup(bytes.subarray(0, -1)), isCorrupt);
  assert.throws(
    () => decodeGroup(Buffer.from([...bytes].map((b) => (b === 0xc3 ? 0xff : b)))),
    isCorrupt,
  );
});

for (const suite of [group, broken]) suite.run();
