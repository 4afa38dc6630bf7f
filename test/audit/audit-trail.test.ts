import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AuditLine } from '#audit/entry';
import { AuditTrail } from '#audit/trail';
import { APPEND_MS_MAX, WAITING_LINES_MAX } from '#audit/trail-bounds';
import { Fault } from '#errors/fault';
import { memoryAuditStore } from '#storage/memory/meters';
import { AUDIT_LINES_MAX, type AuditStore } from '#storage/ports/audit';
import { ACCOUNT, entryOf, findingsOf, linesOf, openTrail } from '#test/audit/entries';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn } from '#test/support/settled';

const MONTH = '2026-01';

const trails = suite('an audit trail');

trails('writes an entry with its cursor, its time and all fields', async () => {
  const { store, trail } = openTrail();
  const entry = entryOf({
    actor: { kind: 'user', id: 'usr_1', session: 'ses_1' },
    address: '203.0.113.7',
    requestId: 'req-1',
    target: 'key_1',
    before: { scope: 'full' },
    after: { scope: 'read' },
  });
  assert.is(await trail.append(ACCOUNT, entry), `${MONTH}.1`);
  const [line] = await linesOf(store, MONTH);
  assert.equal(AuditLine.parse(JSON.parse(line?.text ?? '')), {
    account_id: ACCOUNT,
    month: MONTH,
    seq: 1,
    at: '2026-01-15T12:00:00.000Z',
    actor: { kind: 'user', id: 'usr_1', session: 'ses_1' },
    address: '203.0.113.7',
    request_id: 'req-1',
    action: 'key.revoke',
    target: 'key_1',
    outcome: 'begun',
    before: { scope: 'full' },
    after: { scope: 'read' },
  });
});

trails('writes queued entries together, in order of arrival', async () => {
  const memory = memoryAuditStore();
  let appends = 0;
  const store: AuditStore = {
    ...memory,
    append: (...args) => {
      appends += 1;
      return memory.append(...args);
    },
  };
  const { trail } = openTrail(store);
  const names = Array.from({ length: 3 * AUDIT_LINES_MAX }, (_, index) => `t${index}`);
  await Promise.all(names.map((target) => trail.append(ACCOUNT, entryOf({ target }))));
  const targets = (await linesOf(store, MONTH)).map(({ text }) => JSON.parse(text).target);
  assert.equal(targets, names);
  assert.ok(appends <= 5, `${appends} writes for ${names.length} lines`);
  assert.equal(await findingsOf(store, MONTH), []);
});

// Report 12: the audit trail of a month had no bound.
trails(
  'refuses entries with a limit in a full month, and accepts entries without a limit',
  async () => {
    let failures = 0;
    const { store, clock } = openTrail();
    const trail = new AuditTrail({ store, clock, onFailure: () => (failures += 1) });
    const kept = await Promise.allSettled(
      Array.from({ length: 3 }, () => trail.append(ACCOUNT, entryOf({}), 3)),
    );
    assert.ok(kept.every(({ status }) => status === 'fulfilled'));
    const refused = await faultIn(trail.append(ACCOUNT, entryOf({}), 3));
    assert.equal([refused.code, refused.reason, failures], ['quota_exceeded', 'audit_full', 0]);
    assert.is(await trail.append(ACCOUNT, entryOf({})), `${MONTH}.4`);
    assert.equal(await findingsOf(store, MONTH), []);
  },
);

trails('that several processes share is one chain that contains each line once', async () => {
  const { store, clock, trail } = openTrail();
  const other = new AuditTrail({ store, clock });
  const names = Array.from({ length: 200 }, (_, index) => `t${index}`);
  await Promise.all(
    names.map(async (target, index) => {
      await (index % 2 ? trail : other).append(ACCOUNT, entryOf({ target }));
    }),
  );
  const targets = (await linesOf(store, MONTH)).map(({ text }) => JSON.parse(text).target);
  assert.equal(targets.toSorted(), names.toSorted());
  assert.equal(await findingsOf(store, MONTH), []);
});

trails('retries lines with unknown outcome, and writes no line twice', async () => {
  for (const isApplied of [true, false]) {
    const memory = memoryAuditStore();
    let losses = 2;
    const store: AuditStore = {
      ...memory,
      async append(...args) {
        if (losses === 0) return await memory.append(...args);
        losses -= 1;
        if (isApplied) await memory.append(...args);
        throw new Fault('service_unavailable', 'no answer', { isOutcomeUnknown: true });
      },
    };
    const { trail } = openTrail(store);
    await Promise.all([trail.append(ACCOUNT, entryOf()), trail.append(ACCOUNT, entryOf())]);
    assert.is((await linesOf(store, MONTH)).length, 2);
    assert.equal(await findingsOf(store, MONTH), []);
  }
});

trails('refuses lines that cannot be made durable, and recovers with the store', async () => {
  const memory = memoryAuditStore();
  let isDown = true;
  const store: AuditStore = {
    ...memory,
    async months(accountId) {
      if (isDown) throw new Fault('service_unavailable', 'down');
      return await memory.months(accountId);
    },
  };
  const { trail } = openTrail(store);
  assert.is((await faultIn(trail.append(ACCOUNT, entryOf()))).reason, 'audit_unavailable');
  isDown = false;
  assert.is(await trail.append(ACCOUNT, entryOf()), `${MONTH}.1`);
});

trails('refuses entries that take too long, and entries beyond its queue limit', async () => {
  const store: AuditStore = { ...memoryAuditStore(), append: () => new Promise(() => undefined) };
  const { trail, clock } = openTrail(store);
  const waiting = Array.from({ length: WAITING_LINES_MAX }, () =>
    faultIn(trail.append(ACCOUNT, entryOf())),
  );
  const refused = await faultIn(trail.append(ACCOUNT, entryOf()));
  assert.is(refused.reason, 'audit_unavailable');
  clock.advance(APPEND_MS_MAX);
  for (const fault of await Promise.all(waiting)) assert.is(fault.reason, 'audit_unavailable');
});

trails('reports exactly the lines that did not become durable', async () => {
  const memory = memoryAuditStore();
  const clock = new ManualClock();
  let isDown = true;
  const store: AuditStore = {
    ...memory,
    months: async (accountId) => {
      if (isDown) throw new Fault('service_unavailable', 'down');
      return await memory.months(accountId);
    },
  };
  let failures = 0;
  const onFailure = () => {
    failures += 1;
  };
  const trail = new AuditTrail({ store, clock, onFailure });
  await faultIn(trail.append(ACCOUNT, entryOf()));
  await faultIn(trail.append(ACCOUNT, entryOf()));
  isDown = false;
  await trail.append(ACCOUNT, entryOf());
  assert.is(failures, 2);
});

trails('begins a new chain each month, linked to the previous month', async () => {
  const { store, clock, trail } = openTrail();
  await trail.append(ACCOUNT, entryOf());
  await trail.append(ACCOUNT, entryOf());
  const head = await store.head(ACCOUNT, MONTH);
  clock.advance(20 * 24 * 60 * 60 * 1_000);
  assert.is(await trail.append(ACCOUNT, entryOf()), '2026-02.1');
  const [first] = await linesOf(store, '2026-02');
  assert.equal(JSON.parse(first?.text ?? '').previous, head);
  clock.stepWall(-20 * 24 * 60 * 60 * 1_000);
  assert.is(await trail.append(ACCOUNT, entryOf()), '2026-02.2');
});

trails('ignores a later month without lines, which a lost append leaves behind', async () => {
  const memory = memoryAuditStore();
  const named = async (account: string) => [...(await memory.months(account)), '2026-02'];
  const { clock, trail } = openTrail({ ...memory, months: named });
  await trail.append(ACCOUNT, entryOf());
  assert.is((await linesOf(memory, '2026-01')).length, 1);
  clock.advance(20 * 24 * 60 * 60 * 1_000);
  await trail.append(ACCOUNT, entryOf());
  const [first] = await linesOf(memory, '2026-02');
  assert.equal(JSON.parse(first?.text ?? '').previous, await memory.head(ACCOUNT, '2026-01'));
});

trails('has a line before an action and a line after it', async () => {
  const { store, trail } = openTrail();
  const { outcome: _, ...entry } = entryOf({ target: 'key_1', before: { is: 'active' } });
  const seen: number[] = [];
  const act = async () => {
    seen.push((await linesOf(store, MONTH)).length);
    return 'revoked';
  };
  await trail.around(ACCOUNT, entry, act, (is) => ({ after: { is } }));
  const refuse = async () => {
    throw new Fault('not_found', 'no such key');
  };
  await faultIn(trail.around(ACCOUNT, entry, refuse, () => ({})));
  const lines = (await linesOf(store, MONTH)).map(({ text }) => JSON.parse(text));
  assert.equal(seen, [1]);
  assert.equal(
    lines.map(({ outcome, of, before, after }) => ({ outcome, of, before, after })),
    [
      { outcome: 'begun', of: undefined, before: { is: 'active' }, after: undefined },
      { outcome: 'done', of: `${MONTH}.1`, before: undefined, after: { is: 'revoked' } },
      { outcome: 'begun', of: undefined, before: { is: 'active' }, after: undefined },
      { outcome: 'not_found', of: `${MONTH}.3`, before: undefined, after: undefined },
    ],
  );
});

trails('prevents an action if its line cannot be written', async () => {
  const down = async () => {
    throw new Fault('service_unavailable', 'down');
  };
  const { trail } = openTrail({ ...memoryAuditStore(), append: down });
  let hasHappened = false;
  const act = async () => {
    hasHappened = true;
  };
  const { outcome: _, ...entry } = entryOf();
  const fault = await faultIn(trail.around(ACCOUNT, entry, act, () => ({})));
  assert.is(fault.reason, 'audit_unavailable');
  assert.is(hasHappened, false);
});

trails.run();
