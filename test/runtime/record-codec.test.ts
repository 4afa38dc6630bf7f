import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CorruptJournal, decodeGroup, encodeGroup } from '#runtime/record-codec';
import { recordOf } from '#test/runtime/journal-records';

const group = suite('a group of records');

group('comes back as it was, to the last bit', () => {
  const record = fc.record({
    actor: fc.constantFrom('instance', 'directory'),
    actorId: fc.string({ unit: 'grapheme' }),
    version: fc.maxSafeNat(),
    callId: fc.maxSafeNat(),
    atMs: fc.integer(),
    operation: fc.jsonValue({ noUnicodeString: false }),
  });
  const property = fc.property(fc.array(record), (records) =>
    assert.is(JSON.stringify(decodeGroup(encodeGroup(records))), JSON.stringify(records)),
  );
  fc.assert(property, { numRuns: 50 });
});

group('may be empty', () => {
  assert.equal(decodeGroup(encodeGroup([])), []);
});

const broken = suite('bytes that are no group');

const wrong: [string, string][] = [
  ['are no JSON', '[1,[['],
  ['are of another format', '[2,[]]'],
  ['are no list of records', '[1,{}]'],
  ['hold something that is no record', '[1,["a"]]'],
  ['lack an operation', '[1,[["instance","a",1,1,0]]]'],
  ['have a version that is no count', '[1,[["instance","a",1.5,1,0,1]]]'],
  ['have a negative version', '[1,[["instance","a",-1,1,0,1]]]'],
  ['have a call that is too large a number', '[1,[["instance","a",1,9007199254740992,0,1]]]'],
  ['have no actor', '[1,[[null,"a",1,1,0,1]]]'],
];
for (const [circumstance, text] of wrong) {
  broken(`are called corrupt when they ${circumstance}`, () => {
    assert.throws(
      () => decodeGroup(Buffer.from(text)),
      (e: unknown) => e instanceof CorruptJournal,
    );
  });
}

broken('are called corrupt when they are no UTF-8, or cut off', () => {
  const bytes = encodeGroup([recordOf({ actorId: 'ü' })]);
  const isCorrupt = (e: unknown) => e instanceof CorruptJournal;
  assert.throws(() => decodeGroup(bytes.subarray(0, -1)), isCorrupt);
  assert.throws(
    () => decodeGroup(Buffer.from([...bytes].map((b) => (b === 0xc3 ? 0xff : b)))),
    isCorrupt,
  );
});

for (const suite of [group, broken]) suite.run();
