import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { etagOf, isMatched } from '#engine/instance/keyed-answers';

const instanceId = fc
  .bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((id) => `inst_${id.toString(16).padStart(16, '0')}`);
const version = fc.integer({ min: 1, max: 2 ** 40 });

const tag = suite('the ETag of an instance at a version');

tag('is a strong tag with 16 hex digits, equal for equal arguments', () => {
  fc.assert(
    fc.property(instanceId, version, (id, at) => {
      assert.match(etagOf(id, at), /^"snap_[0-9a-f]{16}"$/);
      assert.is(etagOf(id, at), etagOf(id, at));
    }),
  );
});

tag('equals the tag of the first release, because clients store tags', () => {
  assert.is(etagOf('inst_0123456789abcdef', 12_345), '"snap_51e0950824a643bd"');
  assert.is(etagOf('inst_fedcba9876543210', 2 ** 40 + 7), '"snap_c24ade30a738637f"');
});

tag('differs from the tags of all other versions', () => {
  fc.assert(
    fc.property(instanceId, version, version, (id, one, other) => {
      fc.pre(one !== other);
      assert.is.not(etagOf(id, one), etagOf(id, other));
    }),
  );
  const tags = new Set(
    Array.from({ length: 20_000 }, (_, at) => etagOf('inst_00000000000000aa', at)),
  );
  assert.is(tags.size, 20_000);
});

tag('differs from the tags of all other instances', () => {
  fc.assert(
    fc.property(instanceId, instanceId, version, (one, other, at) => {
      fc.pre(one !== other);
      assert.is.not(etagOf(one, at), etagOf(other, at));
    }),
  );
});

tag("differs from the next version's tag in most digits", () => {
  const one = etagOf('inst_0000000000000000', 1);
  const next = etagOf('inst_0000000000000000', 2);
  const equal = [...one].filter((letter, place) => letter === next[place]).length;
  assert.ok(equal < '"snap_"'.length + 8, `${one} ${next}`);
});

const condition = suite('the condition If-Match');

for (const [ifMatch, isMet] of [
  ['"snap_0123456789abcdef"', true],
  [' "snap_0123456789abcdef" ', true],
  ['"a", "snap_0123456789abcdef","b"', true],
  ['*', true],
  [' * ', true],
  ['"snap_0123456789abcdee"', false],
  ['W/"snap_0123456789abcdef"', false],
  ['snap_0123456789abcdef', false],
  ['"SNAP_0123456789ABCDEF"', false],
  ['"*"', false],
  ['', false],
  ['"a", *', false],
] as const) {
  condition(`${JSON.stringify(ifMatch)} is ${isMet ? '' : 'not '}met`, () => {
    assert.is(isMatched(ifMatch, '"snap_0123456789abcdef"'), isMet);
  });
}

tag.run();
condition.run();
