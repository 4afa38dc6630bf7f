import { createHash, createHmac } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CallIds } from '#edge/serve/engine-calls';
import type { EngineCommand } from '#grpc/engine-messages';
import { unchanging } from '#stdlib/files';

const SECRET = 'a secret of the cluster';
const ADA = { accountId: 'AdaAdaAdaAda', credential: 'a digest' };
const INSTANCE_ID = 'inst_0123456789abcdef';
const CREATE = { kind: 'create' } as const;
const PROCESS = { kind: 'process' } as const;
const RESET = { kind: 'reset' } as const;

/** The call id and tag that an edge derives for a keyed call. */
function nameOf({
  secret = SECRET,
  caller = ADA,
  of = PROCESS as Pick<EngineCommand, 'kind'>,
  instanceId = INSTANCE_ID,
  key = 'a key',
} = {}) {
  return new CallIds(unchanging([secret])).ofKey(caller, of, instanceId, key);
}

const keyed = suite('the id of a keyed call');

keyed('is the same at every edge with the same secret, for every command to an instance', () => {
  const first = nameOf();
  assert.equal(nameOf(), first);
  assert.equal(nameOf({ caller: { ...ADA, credential: 'another digest' } }), first);
  assert.equal(nameOf({ of: RESET }), first);
});

keyed('is the HMAC that release 1.0 computes', () => {
  const label = createHmac('sha256', SECRET).update('identity-engine call name').digest();
  const ids = new CallIds(unchanging([SECRET]));
  for (const key of ['a key', 'k'.repeat(255), 'é'.repeat(3_000), 'b', '']) {
    const named = [ADA.accountId, `on ${INSTANCE_ID}`, key].join('\n');
    const bits = createHmac('sha256', label).update(named).digest().readBigUInt64BE();
    const { callId } = ids.ofKey(ADA, PROCESS, INSTANCE_ID, key);
    assert.is(callId, 2 ** 51 + Number(bits >> 13n), key.slice(0, 9));
  }
});

keyed('differs for another account, instance, key or secret', () => {
  const names = [
    nameOf(),
    nameOf({ caller: { ...ADA, accountId: 'BobBobBobBob' } }),
    nameOf({ instanceId: 'inst_0123456789abcdee' }),
    nameOf({ key: 'b key' }),
    nameOf({ secret: 'another secret of one' }),
    nameOf({ of: CREATE, instanceId: '' }),
    nameOf({ instanceId: 'create' }),
    nameOf({ instanceId: '' }),
    nameOf({ instanceId: 'x', key: 'y' }),
    nameOf({ instanceId: 'x\ny', key: 'y' }),
  ];
  assert.is(new Set(names.map(({ callId }) => callId)).size, names.length);
  assert.is(new Set(names.map(({ callTag }) => callTag)).size, names.length);
});

keyed('cannot be computed from the data of a caller', () => {
  const known = [ADA.accountId, INSTANCE_ID, 'a key'].join('\n');
  const digest = createHash('sha256').update(known).digest();
  const computed = digest.readUIntBE(0, 6) * 2 ** 4 + ((digest[6] ?? 0) >> 4);
  assert.is.not(nameOf().callId % 2 ** 51, computed % 2 ** 51);
});

keyed('has 51 bits, and a tag of 52 independent bits', () => {
  const names = Array.from({ length: 400 }, (_, n) => nameOf({ key: `key ${n}` }));
  for (const { callId, callTag } of names) {
    assert.ok(Number.isInteger(callId) && callId >= 2 ** 51 && callId < 2 ** 52);
    assert.ok(Number.isInteger(callTag) && callTag >= 1 && callTag < 2 ** 52);
  }
  const bits = (numbers: number[], count: number) =>
    Array.from({ length: count }, (_, bit) => {
      return numbers.filter((number) => Math.floor(number / 2 ** bit) % 2 === 1).length;
    });
  const halves = [
    ...bits(
      names.map(({ callId }) => callId),
      51,
    ),
    ...bits(
      names.map(({ callTag }) => callTag),
      52,
    ),
  ];
  for (const ones of halves) assert.ok(ones > 120 && ones < 280, `${ones} of 400`);
  const isSame = ({ callId, callTag }: (typeof names)[number]) => callId % 2 ** 51 === callTag;
  assert.not.ok(names.some(isSame));
});

const plain = suite('the id of a call without a key');

plain('increases by one, and never equals the id of a keyed call', () => {
  const ids = new CallIds(unchanging([SECRET]));
  const first = ids.next();
  assert.ok(first >= 1 && first < 2 ** 51);
  assert.equal([ids.next(), ids.next()], [first + 1, first + 2]);
});

plain('starts at a different number at each edge', () => {
  const firsts = Array.from({ length: 100 }, () => new CallIds(unchanging([SECRET])).next());
  assert.is(new Set(firsts).size, 100);
});

for (const each of [keyed, plain]) each.run();
