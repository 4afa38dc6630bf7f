import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmissionCall } from '#edge/callers/admission';
import { ReportedClients } from '#edge/callers/known-callers';
import {
  ALLOWANCE,
  admissionUnderTest,
  admitting,
  unknown,
} from '#test/edge/admission/admission-fixture';

const MINUTE_MS = 60_000;

const reports = suite('the client of a key');

reports('is reported once a minute, for each key', () => {
  const clients = new ReportedClients();
  assert.is(clients.due('a', 'curl/8.5.0', 0), 'curl/8.5.0');
  clients.reported('a', 0);
  assert.is(clients.due('a', 'curl/8.5.0', MINUTE_MS - 1), undefined);
  assert.is(clients.due('b', 'curl/8.5.0', 0), 'curl/8.5.0');
  assert.is(clients.due('a', 'other', MINUTE_MS), 'other');
});

reports('is reported as empty if the caller sent none', () => {
  assert.is(new ReportedClients().due('a', undefined, 0), '');
});

reports('has at most 120 printable characters', () => {
  const clients = new ReportedClients();
  assert.is(clients.due('a', 'a\u001b[2J\u009bé\tb', 0), 'a?[2J???b');
  assert.is(clients.due('a', 'x'.repeat(9_000), 0)?.length, 120);
});

reports('is reported again after 10,000 other keys', () => {
  const clients = new ReportedClients();
  for (let i = 0; i <= 10_000; i += 1) clients.reported(String(i), 0);
  assert.is(clients.due('0', 'curl', 0), 'curl');
  assert.is(clients.due('10000', 'curl', 0), undefined);
});

const calls = suite('the caller data in a call to the limiter');

calls('always has the address, but the client only until a call is admitted', async () => {
  const { admit, asked, limiter, clock } = admissionUnderTest(unknown);
  const heard = async (call: Partial<AdmissionCall> = {}) => {
    asked.length = 0;
    await admit({ userAgent: 'curl', ...call });
    const [question] = asked;
    return question?.kind === 'admit' ? [question.address, question.client] : undefined;
  };
  assert.equal(await heard(), ['1.1.1.1', 'curl']);
  limiter.answering = () => ({ verdict: 'quota_exceeded', allowance: ALLOWANCE });
  assert.equal(await heard(), ['1.1.1.1', 'curl']);
  limiter.answering = admitting;
  assert.equal(await heard(), ['1.1.1.1', 'curl']);
  assert.equal(await heard(), ['1.1.1.1', undefined]);
  const caller = { accountId: 'AdaAdaAdaAda', credential: 'another key' };
  assert.equal(await heard({ caller }), ['1.1.1.1', 'curl']);
  clock.advance(MINUTE_MS);
  assert.equal(await heard(), ['1.1.1.1', 'curl']);
});

calls('has a placeholder if a proxy sent an invalid address', async () => {
  const { admit, asked } = admissionUnderTest(admitting);
  for (const address of ['', 'x'.repeat(65)]) await admit({ address });
  const addresses = asked.map((call) => (call.kind === 'admit' ? call.address : undefined));
  assert.equal(addresses, ['unreadable', 'unreadable']);
});

for (const each of [reports, calls]) each.run();
