import type { AuditRow } from '#console/answers';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { type FakeInstance, fakeInstance } from '#test/console/pages/fakes/fake-instances';
import type { FakeAccount, FakeKey } from '#test/console/pages/fakes/fake-routes';

const CHROME = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36';

const key = (id: string, name: string, more: Record<string, unknown> = {}): FakeKey => ({
  ...{ id, name, scope: 'full', status: 'active', masked: `svc_sk_…${id.slice(-4)}` },
  ...{ created_at: '2026-01-10T08:00:00.000Z', hints: [], ...more },
});

const KEYS: readonly FakeKey[] = [
  key('key_a7Qx', 'billing worker, production', {
    expires_at: '2026-04-10T08:00:00.000Z',
    last_used: {
      at: '2026-01-15T11:58:00.000Z',
      address: '203.0.113.20',
      client: 'acme-billing/3.1',
    },
    networks: ['203.0.113.0/24'],
  }),
  key('key_k2Lm', 'notebook of Ada', {
    scope: 'read',
    hints: ['never_used', 'no_expiry'],
    created_at: '2026-01-14T17:20:00.000Z',
  }),
  key('key_p9Rt', 'chat service', {
    created_at: '2025-09-01T08:00:00.000Z',
    hints: ['idle_90_days', 'no_expiry'],
    last_used: {
      at: '2025-10-02T06:30:00.000Z',
      address: '198.51.100.9',
      client: 'python-httpx/0.28',
    },
  }),
  key('key_d4Wn', 'load test', { status: 'disabled', expires_at: '2026-06-30T21:59:59.000Z' }),
  key('key_z1Vb', 'old worker', {
    status: 'revoked',
    created_at: '2025-08-01T08:00:00.000Z',
    last_used: { at: '2025-12-24T14:03:00.000Z', address: '203.0.113.20', client: CHROME },
  }),
];

const USED = [0, 0, 120, 340, 90, 260, 410, 0, 35, 380, 520, 640, 190, 227, 200];

const MONTHS = [
  {
    ...{ month: '2026-01', cycles: 3_412, other_cycles: 312 },
    days: USED.map((cycles, index) => ({
      date: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
      cycles,
    })),
    keys: [
      { id: 'key_a7Qx', name: 'billing worker, production', cycles: 2_600 },
      { id: 'key_k2Lm', name: 'notebook of Ada', cycles: 500 },
    ],
  },
  {
    ...{ month: '2025-12', cycles: 14, other_cycles: 0 },
    days: [{ date: '2025-12-01', cycles: 14 }],
    keys: [{ id: 'key_z1Vb', name: 'old worker', cycles: 14 }],
  },
];

/** Monthly cycles of the instances below and of a deleted instance. */
const USED_BY = [1_210, 840, 512, 390, 120, 41];

const BOUGHT = {
  ...{ provider: 'stripe', plan: 'indie', may_manage: true },
  next_plan: { plan: 'free', at: '2026-01-20T09:30:00.000Z' },
  subscription: {
    ...{ plan: 'indie', status: 'overdue', period_ends_at: '2026-02-10T09:30:00.000Z' },
    ...{ payment_failed_at: '2026-01-13T09:30:00.000Z', kept_until: '2026-01-20T09:30:00.000Z' },
  },
};

const ADA = { id: 'usr_5f0a1b2c3d4e5f60', name: 'Ada Lovelace', more: 'ada@example.com' };
const WORKER = { id: 'key_a7Qx', name: 'billing worker, production', more: 'svc_sk_…a7Qx' };

const SKETCHES: readonly (Pick<AuditRow, 'action' | 'result'> & Partial<AuditRow>)[] = [
  {
    ...{ action: 'key.create', result: 'done', after: { name: 'notebook of Ada', scope: 'read' } },
    target: { id: 'key_k2Lm', name: 'notebook of Ada', more: 'svc_sk_…k2Lm' },
  },
  {
    ...{ action: 'key.disable', result: 'done' },
    target: { id: 'key_d4Wn', name: 'load test', more: 'svc_sk_…d4Wn' },
    ...{ before: { status: 'active' }, after: { status: 'disabled' } },
  },
  {
    ...{ action: 'member.role', result: 'refused', code: 'conflict', target: ADA },
    ...{ before: { role: 'owner' }, after: { role: 'viewer' } },
  },
  {
    ...{ action: 'session.begin', result: 'running' },
    after: { authenticated_by: 'password', second_factor: 'missing' },
  },
  {
    ...{ action: 'instance.delete', result: 'done', target: { id: 'ins_7f3k', name: 'Atlas' } },
    actor: { kind: 'key', ...WORKER },
  },
  {
    ...{ action: 'account.plan', result: 'done', before: { plan: 'free' } },
    ...{ after: { plan: 'indie' }, actor: { kind: 'operator', name: 'root' } },
  },
];

/** Rows of the audit trail, newest first. */
export function sampleActions(count: number): AuditRow[] {
  return Array.from({ length: count }, (_, index) => {
    const sketch = SKETCHES[index % SKETCHES.length] ?? SKETCHES[0];
    const at = new Date(Date.UTC(2026, 0, 15, 12) - index * 97_000).toISOString();
    const actor = { kind: 'user', session: 'ses_9c1d', ...ADA };
    const origin = { address: '203.0.113.7', request_id: `req_${1_000 + index}` };
    const [id, next] = [`2026-01.${2 * (count - index)}`, `2026-01.${2 * (count - index) + 1}`];
    const lines = sketch?.result === 'running' ? [id] : [id, next];
    const duration = lines.length === 1 ? {} : { duration_ms: 30 + index };
    return {
      action: '',
      result: 'done',
      ...{ id, at, actor, ...origin, lines },
      ...duration,
      ...sketch,
    };
  });
}

const NAMES = [
  ['Release notes', 'Writes what is new of each release, for people who do not read code'],
  ['Support, first line', 'Answers questions of customers and hands hard ones on'],
  ['Reviewer', 'Reads changes of the code and asks about what is not clear'],
  ['Tutor', ''],
  ['Night watch', 'Looks after alerts between 22:00 and 06:00'],
  ['Support, second line', 'Takes what the first line cannot answer'],
  ['Planner', 'Keeps the list of what is next'],
] as const;

/** Instances from personas; older instances have more observations. */
function sampleInstances(): FakeInstance[] {
  return NAMES.map(([name, description], index) => {
    const strengths = PERSONA_PROFILES[index]?.strengths ?? [];
    const observed = Array.from({ length: 9 * (NAMES.length - index) - 8 }, (_, cycle) => ({
      ...{ mode: (3 * cycle + index) % 7, signal: 0.3 + ((7 * cycle) % 5) / 8, confidence: 0.9 },
    }));
    return fakeInstance(index + 1, { name, description, strengths, observed });
  });
}

function usedByInstance(all: readonly FakeInstance[]): Record<string, unknown> {
  const instances = USED_BY.map((cycles, index) => {
    const { id = '', name = '' } = all[index] ?? {};
    return { id, name, cycles };
  });
  return {
    ...{ month: '2026-01', as_of: '2026-01-15T11:59:48.000Z', cycles: 3_412, instances },
    ...{ other_cycles: 299, instances_total: all.length, instances_listed: all.length },
    is_complete: true,
  };
}

/** Fills an account with sample data of a small company after half a year. */
export function fillSample(account: FakeAccount): void {
  account.keys = [...KEYS];
  account.actions = sampleActions(120);
  account.instances = sampleInstances();
  account.months = [...MONTHS];
  account.byInstance = usedByInstance(account.instances);
  account.usage = { ...account.usage, forecast: { cycles: 7_052 } };
  account.billing = { ...account.billing, ...BOUGHT };
}
