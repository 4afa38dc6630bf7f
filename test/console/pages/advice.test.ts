import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FAULTS } from '#errors/error-codes';
import { CONSOLE_REASONS, codeOfReason, REASONS } from '#errors/error-reasons';
import { adviceFor } from '#pages/parts/advice';

const advice = suite('the next step after a refusal');

const of = (code: string, reason?: string, retryAfterSeconds?: number) =>
  adviceFor({ code, reason, retryAfterSeconds }).join(' ');

advice('exists for every refusal that a user cannot avoid', () => {
  const limits = ['instance_limit', 'webhook_limit', 'too_many_streams', 'account_suspended'];
  const unavailable = Object.entries({ ...REASONS, ...CONSOLE_REASONS })
    .filter(([, { code }]) => ['service_unavailable', 'conflict'].includes(code))
    .map(([reason]) => reason as keyof typeof REASONS);
  for (const reason of [...unavailable, ...limits, 'role_not_allowed'] as const) {
    const code = codeOfReason(reason as keyof typeof REASONS);
    assert.ok(of(code, reason).length > 0, reason);
  }
  for (const code of ['rate_limited', 'quota_exceeded', 'service_unavailable', 'internal']) {
    assert.ok(code in FAULTS && of(code).length > 0, code);
  }
});

advice('of a reason has precedence over the step of its code', () => {
  assert.match(of('service_unavailable', 'index_rebuilding'), /builds the index/);
  assert.match(of('service_unavailable', 'audit_unavailable'), /^Nothing was changed\./);
  assert.match(of('quota_exceeded', 'audit_full'), /next month/);
});

advice('begins with the time of the next try', () => {
  assert.match(of('rate_limited', undefined, 40), /^Try again in 40 seconds\. Pages and programs/);
});

advice('is absent if the message of the refusal says what to do', () => {
  assert.is(of('invalid_request', 'weak_password'), '');
  assert.is(of('no_answer'), '');
});

advice('warns about a change with an unknown outcome', () => {
  for (const reason of ['deadline_exceeded', 'outcome_unknown']) {
    assert.match(of('service_unavailable', reason), /may have been applied/);
  }
});

advice.run();
