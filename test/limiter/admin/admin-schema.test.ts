import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { limitsOf } from '#accounts/plan';
import {
  AccountBody,
  AccountView,
  KeyBody,
  KeyView,
  NewKeyView,
  PlanBody,
  RefusalView,
  UsageView,
} from '#limiter/admin/schema';
import { viewOfAccount, viewOfKey, viewOfUsage, viewOfUsedKey } from '#limiter/admin/views';

const AT_MS = Date.UTC(2026, 0, 15, 12);
const AT = '2026-01-15T12:00:00.000Z';
const PLANS = ['free', 'indie', 'pro'] as const;
const LIMITS = { requests_per_minute: 7, cycles_per_month: 8 };

const account = {
  id: 'Acc0unt00001',
  name: 'an account',
  plan: 'pro',
  status: 'active',
  limits: limitsOf({ plan: 'pro' }),
  createdAtMs: AT_MS,
} as const;
const usage = {
  limits: limitsOf({ plan: 'pro' }),
  requestsInWindow: 1,
  windowWatermark: 2,
  windowResetAtS: AT_MS / 1_000,
  cyclesUsed: 3,
  cyclesReserved: 4,
  monthWatermark: 5,
  cyclesExpired: 6,
  cyclesLost: 7,
  cyclesByDay: [],
  keys: [],
  finishedMonths: [],
  monthResetAtS: AT_MS / 1_000,
};

/**
 * Asserts that a schema accepts a view, refuses another type for each field, and requires each
 * field that is not in `optional`.
 */
function assertExact(schema: z.ZodType, view: object, optional: readonly string[] = []): void {
  assert.equal(schema.parse(view), view);
  for (const name of Object.keys(view)) {
    const { [name]: _, ...rest } = view as Record<string, unknown>;
    assert.is(schema.safeParse(rest).success, optional.includes(name), `without ${name}`);
    assert.not.ok(schema.safeParse({ ...view, [name]: [[]] }).success, `another ${name}`);
  }
}

const answers = suite('in answers of the admin port, ctl validates each field of');

answers('an account with any plan and status', () => {
  for (const plan of [...PLANS, 'enterprise'] as const) {
    for (const status of ['active', 'suspended'] as const) {
      assertExact(AccountView, viewOfAccount({ ...account, plan, status }, AT_MS));
    }
  }
  assert.not.ok(AccountView.safeParse({ ...viewOfAccount(account, AT_MS), plan: 'gold' }).success);
});

answers('a key with any scope and state', () => {
  const optional = ['revoked_at', 'expires_at', 'name', 'masked', 'networks', 'disabled_at'];
  for (const scope of ['full', 'read'] as const) {
    const key = { id: 'key_1', digest: 'd', scope, createdAtMs: AT_MS };
    const states = [
      { ...key, expiresAtMs: AT_MS + 1 },
      { ...key, expiresAtMs: AT_MS },
      { ...key, revokedAtMs: AT_MS - 1 },
      { ...key, disabledAtMs: AT_MS - 1, name: 'Zoë', hint: 'ab12' },
      { ...key, disabledAtMs: AT_MS - 2, revokedAtMs: AT_MS - 1, replacedBy: 'key_2' },
    ].map((made) => viewOfKey(made, AT_MS));
    for (const view of states) assertExact(KeyView, view, [...optional, 'replaced_by']);
    assert.equal(
      states.map(({ status }) => status),
      ['active', 'expired', 'revoked', 'disabled', 'revoked'],
    );
    assert.is(states[3]?.masked, 'svc_sk_…ab12');
    assert.equal(states[0], {
      id: 'key_1',
      scope,
      status: 'active',
      created_at: AT,
      expires_at: '2026-01-15T12:00:00.001Z',
    });
    const shown = { ...viewOfKey(key, AT_MS), key: 'svc_sk_shown_once' };
    assertExact(NewKeyView, shown);
  }
});

answers('a key, but accepts unknown scopes, statuses and hints', () => {
  const later = { id: 'key_1', scope: 'events', status: 'paused', created_at: AT };
  assert.equal(KeyView.parse({ ...later, hints: ['leaked'] }), { ...later, hints: ['leaked'] });
});

answers('a key, including hints about keys that need attention', () => {
  const daysAgo = (days: number) => AT_MS - days * 86_400_000;
  const key = { id: 'key_1', digest: 'd', scope: 'full', hint: 'ab12' } as const;
  const hintsOf = (record: ApiKeyRecord, usedDaysAgo?: number) => {
    const use = { digest: 'd', minute: daysAgo(usedDaysAgo ?? 0) / 60_000 };
    const lastUse = { ...use, address: '192.0.2.1', client: undefined };
    const used = { record, lastUse: usedDaysAgo === undefined ? undefined : lastUse };
    const view = viewOfUsedKey(used, AT_MS);
    assert.equal(KeyView.parse(view), view);
    return view.hints;
  };
  const until = { expiresAtMs: AT_MS + 1 };
  assert.equal(hintsOf({ ...key, createdAtMs: daysAgo(7), ...until }), ['never_used']);
  assert.equal(hintsOf({ ...key, createdAtMs: daysAgo(6), ...until }), []);
  assert.equal(hintsOf({ ...key, createdAtMs: daysAgo(99), ...until }, 90), ['idle_90_days']);
  assert.equal(hintsOf({ ...key, createdAtMs: daysAgo(99) }, 89), ['no_expiry']);
  const { hint: _, ...old } = { ...key, createdAtMs: daysAgo(99), ...until };
  assert.equal(hintsOf(old), [], 'no hint for a key of a release that recorded no uses');
  assert.equal(hintsOf({ ...key, createdAtMs: daysAgo(99), revokedAtMs: 1 }), []);
  const used = { record: { ...key, createdAtMs: 0 }, lastUse: { digest: 'd', minute: 29_000_000 } };
  const { last_used } = viewOfUsedKey(
    { ...used, lastUse: { ...used.lastUse, address: '192.0.2.1', client: 'curl/8' } },
    AT_MS,
  );
  assert.equal(last_used, {
    at: '2025-02-19T21:20:00.000Z',
    address: '192.0.2.1',
    client: 'curl/8',
  });
});

answers('usage and error answers', () => {
  assertExact(UsageView, viewOfUsage('Acc0unt00001', usage, []), ['window_resets_at']);
  assertExact(RefusalView, { error: 'not_found', message: 'there is none' });
  const over = viewOfUsage('Acc0unt00001', { ...usage, cyclesUsed: 10 ** 12 }, []);
  assert.is(over.cycles_remaining, 0, 'remaining cycles are never negative');
});

const bodies = suite('the admin port accepts');

bodies('a plan, with limits only if the plan is enterprise', () => {
  for (const plan of PLANS) {
    assert.equal(PlanBody.parse({ plan }), { plan });
    assert.equal(AccountBody.parse({ name: 'Zoë', plan }), { name: 'Zoë', plan });
    assert.not.ok(PlanBody.safeParse({ plan, limits: LIMITS }).success);
  }
  const agreed = { plan: 'enterprise', limits: LIMITS };
  assert.equal(PlanBody.parse(agreed), agreed);
  assert.equal(AccountBody.parse({ ...agreed, name: 'Zoë' }), { ...agreed, name: 'Zoë' });
  assert.not.ok(AccountBody.safeParse(agreed).success, 'an account needs a name');
  for (const limits of [
    { ...LIMITS, requests_per_minute: 0 },
    { ...LIMITS, burst: 1 },
    { cycles_per_month: 1 },
  ]) {
    assert.not.ok(PlanBody.safeParse({ ...agreed, limits }).success, JSON.stringify(limits));
  }
});

bodies('a key with a name, and normalised networks without duplicates', () => {
  const networks = ['10.1.2.3/8', '::ffff:10.0.0.0/104', '192.0.2.7', '2001:DB8::1'];
  assert.equal(KeyBody.parse({ scope: 'full', name: 'CI ✓', networks }), {
    scope: 'full',
    name: 'CI ✓',
    networks: ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::1/128'],
  });
  const many = Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`);
  for (const wrong of [
    ...[[], many, ['10.0.0.0/33'], ['0.0.0.0/0'], ['a'], '10.0.0.0/8'].map((given) => ({
      networks: given,
    })),
    ...['', 'x'.repeat(65), 'a\u001b[2J', 'a\u202eb', 'a\nb'].map((name) => ({ name })),
  ]) {
    assert.not.ok(KeyBody.safeParse({ scope: 'full', ...wrong }).success, JSON.stringify(wrong));
  }
});

bodies('a key with a scope, and an expiry with a time zone', () => {
  for (const scope of ['full', 'read']) assert.equal(KeyBody.parse({ scope }), { scope });
  const dated = { scope: 'read', expires_at: '2026-02-01T00:00:00+01:00' };
  assert.equal(KeyBody.parse(dated), dated);
  for (const wrong of [
    {},
    { scope: 'admin' },
    { ...dated, expires_at: '2026-02-01' },
    { ...dated, id: 'key_1' },
  ]) {
    assert.not.ok(KeyBody.safeParse(wrong).success, JSON.stringify(wrong));
  }
});

for (const group of [answers, bodies]) group.run();
