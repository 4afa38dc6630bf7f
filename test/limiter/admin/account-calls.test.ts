import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { entryOf } from '#test/audit/entries';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { faultIn } from '#test/support/settled';

const questions = suite('an account call of an edge');

async function askerUnderTest() {
  const { limiter, id, audit } = await limiterUnderTest(custom(60, 100));
  const ask = async (name: string, body: unknown) =>
    await limiter.client.ask({ kind: 'account', accountId: id, callId: 0, callTag: 0, name, body });
  return { ask, id, audit };
}

questions('gets the cursor of the stored audit line', async () => {
  const { ask, id, audit } = await askerUnderTest();
  const answer = await ask('audit.append', { entry: entryOf({ target: 'key_1' }) });
  assert.equal(answer, { verdict: 'answered', allowance: undefined, body: { place: '2026-01.1' } });
  const [line] = await audit.read(id, '2026-01', 1, 1);
  assert.is(JSON.parse(line?.text ?? '').target, 'key_1');
  const { body } = await ask('audit.page', { limit: 5, target: 'key_1' });
  assert.equal(body, { lines: [JSON.parse(line?.text ?? '')], next: undefined });
});

questions('is refused if malformed, and stores nothing', async () => {
  const { ask, id, audit } = await askerUnderTest();
  for (const body of [{}, { entry: { ...entryOf(), action: 'No' } }, { entry: 5 }, null]) {
    assert.is((await faultIn(ask('audit.append', body))).code, 'internal');
  }
  assert.is((await faultIn(ask('audit.page', { limit: 1_000_000 }))).code, 'internal');
  assert.equal(await audit.months(id), []);
});

questions('stores its line without unknown fields from a later release', async () => {
  const { ask, id, audit } = await askerUnderTest();
  await ask('audit.append', { entry: { ...entryOf(), later: 'x' }, other: 1 });
  const [line] = await audit.read(id, '2026-01', 1, 1);
  assert.not.match(line?.text ?? '', /later/);
});

questions(
  'is refused with upgrade_in_progress, without effect, if only a later release knows it',
  async () => {
    const { ask } = await askerUnderTest();
    const fault = await faultIn(ask('of.later', {}));
    assert.equal([fault.reason, fault.isOutcomeUnknown], ['upgrade_in_progress', false]);
  },
);

questions.run();
