import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AuditTrail } from '#audit/trail';
import { serveAdmin } from '#limiter/admin/server';
import { memoryAuditStore } from '#storage/memory/meters';
import { AUDIT_LINES_MAX, type AuditStore, type StoredAuditLine } from '#storage/ports/audit';
import { entryOf } from '#test/audit/entries';
import { ctl } from '#test/ctl/ctl-run';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ADMIN_TOKEN, adminTokenFile } from '#test/support/calls/admin-token';
import { ManualClock } from '#test/support/manual-clock';
import { NO_OVERVIEW } from '#test/support/no-overview';

const DAY_MS = 24 * 60 * 60 * 1_000;
const JANUARY = AUDIT_LINES_MAX + 20;

/**
 * A service whose account has audit lines in January and February. A test can damage the store.
 */
async function trailUnderTest(change: Partial<AuditStore> = {}) {
  const { limiter, id } = await limiterUnderTest(custom(60, 100));
  const clock = new ManualClock();
  const memory = memoryAuditStore();
  const writing = new AuditTrail({ store: memory, clock });
  for (let index = 0; index < JANUARY; index += 1) {
    await writing.append(id, entryOf({ target: `t${index}` }));
  }
  clock.advance(20 * DAY_MS);
  await writing.append(id, entryOf({ target: 'of February' }));
  const trail = new AuditTrail({ store: { ...memory, ...change }, clock });
  const always = { token: ADMIN_TOKEN, heard: () => undefined, clock, cluster: NO_OVERVIEW };
  const onBug = (bug: unknown) => assert.unreachable(String(bug));
  const ports = { admin: limiter.admin, trail, onBug, ...always };
  const running = await serveAdmin({ host: '127.0.0.1', port: 0 }, ports);
  const target = { adminUrl: running.address, adminTokenFile: adminTokenFile() };
  const verified = async (...argv: string[]) => {
    const { code, out, err } = await ctl(['audit', 'verify', id, ...argv, '--json'], target);
    assert.is(err, '');
    const { months, findings, erased_months } = JSON.parse(out);
    const found = findings.map(
      (finding: ReturnType<typeof JSON.parse>) => `${finding.month} ${finding.seq} ${finding.text}`,
    );
    return { code, months, found, erased_months };
  };
  return {
    ...{ id, store: memory, verified, limiter, clock },
    run: async (...argv: string[]) => await ctl(argv, target),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await limiter[Symbol.asyncDispose]();
    },
  };
}

/** Replacement for `read` of a store, which applies `change` to every line. */
function spoiled(store: () => AuditStore, change: (line: StoredAuditLine) => StoredAuditLine[]) {
  return {
    read: async (...args: Parameters<AuditStore['read']>) =>
      (await store().read(...args)).flatMap(change),
  };
}

const verify = suite('ctl audit verify');

verify('finds no fault in an unchanged trail, and shows the last hash of each month', async () => {
  await using service = await trailUnderTest();
  const { code, months, found } = await service.verified();
  assert.equal([code, found], [0, []]);
  assert.equal(months, [
    await service.store.head(service.id, '2026-01'),
    await service.store.head(service.id, '2026-02'),
  ]);
  const { out } = await service.run('audit', 'verify', service.id);
  assert.match(out, /2026-01 +148 +[\w-]{43}/);
  assert.match(out, /No line was changed/);
});

verify('finds a changed line and a missing line', async () => {
  let store = memoryAuditStore();
  const change = (line: StoredAuditLine) => {
    if (line.text.includes('"t7"')) return [{ ...line, text: line.text.replace('t7', 't8') }];
    return line.text.includes('"t140"') ? [] : [line];
  };
  await using service = await trailUnderTest(spoiled(() => store, change));
  store = service.store;
  const { code, found } = await service.verified();
  assert.is(code, 3);
  assert.equal(found, ['2026-01 8 changed since it was written', '2026-01 141 missing']);
});

verify('reports a first line that is not JSON, and continues with the next line', async () => {
  let store = memoryAuditStore();
  const change = (line: StoredAuditLine) => [
    line.seq === 1 && line.text.includes('"t0"') ? { ...line, text: '{broken' } : line,
  ];
  await using service = await trailUnderTest(spoiled(() => store, change));
  store = service.store;
  assert.equal((await service.verified()).found, ['2026-01 1 changed since it was written']);
});

verify('finds a missing month, unless its retention has ended', async () => {
  await using service = await trailUnderTest();
  await service.store.erase(service.id, '2026-01');
  assert.equal((await service.verified()).found, [
    '2026-02 1 the previous month, 2026-01, is missing',
  ]);
  await service.limiter.admin.setPlan(service.id, { plan: 'free' });
  service.clock.advance(120 * DAY_MS);
  const { code, found, erased_months } = await service.verified();
  assert.equal([code, found, erased_months], [0, [], ['2026-01']]);
});

verify('verifies an exported trail without a service', async () => {
  await using service = await trailUnderTest();
  const { written, err } = await service.run('audit', 'export', service.id);
  assert.match(err, /149 lines/);
  const lines = written.trimEnd().split('\n');
  assert.is(lines.length, JANUARY + 1);
  assert.is(JSON.parse(lines[3] ?? '').target, 't3');
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  const file = join(folder, 'trail.ndjson');
  const checked = async (text: string) => {
    await writeFile(file, text);
    return (await service.verified('--file', file)).found;
  };
  assert.equal(await checked(written), []);
  assert.equal(await checked(written.replace('"t9"', '"t0"')), [
    '2026-01 10 changed since it was written',
  ]);
  assert.equal(await checked(lines.toSpliced(4, 2).join('\n')), ['2026-01 5 missing, up to 6']);
  await writeFile(file, 'something else\n');
  const refused = await service.run('audit', 'verify', service.id, '--file', file);
  assert.match(refused.err, /line 1 is not a line of an exported audit trail/);
  await rm(folder, { recursive: true });
});

verify('is refused for an account that does not exist', async () => {
  await using service = await trailUnderTest();
  const { code, err } = await service.run('audit', 'verify', 'Nobody000001');
  assert.is(code, 4);
  assert.match(err, /no such account/);
});

verify.run();
