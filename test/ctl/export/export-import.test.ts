import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Clock } from '#stdlib/clock';
import { ctlOn } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import {
  ACCOUNT,
  askerOf,
  changed,
  engineOn,
  exportOf,
  folderOfTest,
  IDS,
  importOf,
  KEYS,
  soon,
  source,
  target,
  textOf,
} from '#test/ctl/export/export-fixture';
import { answerText, QUESTIONS } from '#test/ctl/reader-questions';
import { ACCOUNT_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';

const lines = suite('an export');

lines('has JSON lines in a fixed order, with counts and a digest at the end', async () => {
  await using from = await source();
  const written = await exportOf(from);
  assert.is(await exportOf(from), written);
  const kinds = written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).kind);
  const order = /^export account (key ){3}(instance (state )*(observation )*(drift )*){4}end$/;
  assert.match(kinds.join(' '), order);
  const start = written.lastIndexOf('{"kind":"end"');
  const { sha256, ...counts } = JSON.parse(written.slice(start));
  const count = (kind: string) => kinds.filter((one) => one === kind).length;
  assert.equal(counts, {
    kind: 'end',
    keys: 3,
    instances: 4,
    observations: count('observation'),
    drift_events: count('drift'),
  });
  assert.ok(counts.observations > 760 && counts.drift_events > 10);
  assert.is(createHash('sha256').update(written.slice(0, start)).digest('hex'), sha256);
});

lines('to a file prints its counts, and never overwrites another file', async () => {
  await using from = await source();
  await using folder = await folderOfTest();
  const path = join(folder.path, 'a.ndjson');
  const { code, out } = await ctl(['export', ACCOUNT_ID, '--file', path], { cluster: from.ports });
  assert.is(code, 0);
  assert.match(out, /a\.ndjson: 4 instances, 764 observations, \d+ drift events\.$/m);
  assert.match(out, /^Next, run in the target installation: ctl import .*a\.ndjson$/m);
  const end = (await textOf(path)).trimEnd().split('\n').at(-1);
  assert.match(end ?? '', /^{"kind":"end"/);
  const again = await ctl(['export', ACCOUNT_ID, '--file', path], { cluster: from.ports });
  assert.is(again.code, 1);
  assert.match(again.err, /a\.ndjson exists already/);
});

lines('to a file that another command writes is refused without a change', async () => {
  await using from = await source();
  await using folder = await folderOfTest();
  const path = join(folder.path, 'a.ndjson');
  await writeFile(`${path}.part`, 'begun');
  const { code, err } = await ctl(['export', ACCOUNT_ID, '--file', path], { cluster: from.ports });
  assert.is(code, 1);
  assert.match(err, /a\.ndjson\.part exists already: .* remove the file$/);
  assert.is(await textOf(`${path}.part`), 'begun');
});

lines('of an unknown account is refused, and leaves no file', async () => {
  await using from = await source();
  await using folder = await folderOfTest();
  const path = join(folder.path, 'a.ndjson');
  const { err } = await ctl(['export', 'Acc0unt00002', '--file', path], { cluster: from.ports });
  assert.is(err, 'ctl: there is no account Acc0unt00002');
  const other = await ctl(['export', ACCOUNT_ID, '--file', path], { cluster: from.ports });
  assert.is(other.code, 0, other.err);
});

lines('waits for instances that are listed but not stored yet', async () => {
  await using from = await source();
  const { instances } = from.stores;
  let reads = 0;
  const late: typeof instances = {
    ...instances,
    async readHead(id) {
      if (id !== IDS.reset) return await instances.readHead(id);
      reads += 1;
      return reads < 3 ? undefined : await instances.readHead(id);
    },
  };
  const cluster = { ...from.ports, instances: late };
  const { code, written, err } = await ctl(['export', ACCOUNT_ID], { cluster });
  assert.equal([code, reads], [0, 3]);
  assert.match(err, /^waiting until engines store 1 instance$/m);
  assert.ok(written.includes(IDS.reset));
});

lines('waits the same time for instances that are created during a long read', async () => {
  await using from = await source();
  const time = new ManualClock(START_MS);
  const clock: Clock = {
    wallMs: () => time.wallMs(),
    monotonicMs: () => time.monotonicMs(),
    after: (_, task) => soon(task),
  };
  const { instances } = from.stores;
  let reads = 0;
  const slow: typeof instances = {
    ...instances,
    async readHead(id) {
      // Reading the other instances takes longer than storing any instance.
      if (id !== IDS.reset) time.advance(200_000);
      else reads += 1;
      return id === IDS.reset && reads === 1 ? undefined : await instances.readHead(id);
    },
  };
  const cluster = { ...from.ports, clock, instances: slow };
  const { code, err, written } = await ctl(['export', ACCOUNT_ID], { cluster });
  assert.is(code, 0, err);
  assert.ok(written.includes(IDS.reset));
});

lines('omits an instance that is deleted meanwhile', async () => {
  await using from = await source();
  const { instances } = from.stores;
  const head = await instances.readHead(IDS.long);
  {
    await using engine = engineOn(from);
    await askerOf(engine)(IDS.long, { kind: 'remove' });
  }
  let reads = 0;
  const behind: typeof instances = {
    ...instances,
    async readHead(id) {
      if (id !== IDS.long) return await instances.readHead(id);
      reads += 1;
      return reads === 1 ? head : await instances.readHead(id);
    },
  };
  const { listings } = from.stores;
  const row = { instanceId: IDS.long, version: 1, name: '', description: '', createdAtMs: 1 };
  const pages: typeof listings.pages = async function* (accountId) {
    yield* listings.pages(accountId);
    yield [row];
  };
  const cluster = { ...from.ports, instances: behind, listings: { ...listings, pages } };
  const { code, written, err } = await ctl(['export', ACCOUNT_ID], { cluster });
  assert.is(code, 0, err);
  assert.is(reads, 2);
  assert.not.ok(written.includes(IDS.long));
  await using to = await target();
  assert.is((await importOf(to, written)).code, 0);
});

const imported = suite('an imported account');

imported('has the same answers and keys as its source, and passes ctl verify', async () => {
  await using from = await source();
  await using to = await target();
  const { code, out, err } = await importOf(to, await exportOf(from));
  assert.is(code, 0, err);
  assert.match(out, /^Account Acc0unt00001 is imported: 4 instances, 764 observations, \d+ drift/m);
  const found = await to.stores.accounts.find(ACCOUNT_ID);
  assert.equal(found, { account: ACCOUNT, keys: KEYS });
  await using engine = engineOn(from);
  const ask = askerOf(engine);
  for (const id of Object.values(IDS)) {
    for (const question of QUESTIONS) {
      assert.is(
        answerText(await to.ask(id, question)),
        answerText(await ask(id, question)),
        question.kind,
      );
    }
  }
  assert.match(await ctlOn(to).text('verify', IDS.long), /gives the head, bit for bit/);
  assert.equal(to.bugs, []);
});

imported('is stored exactly as an engine would store it', async () => {
  await using from = await source();
  await using to = await target();
  await importOf(to, await exportOf(from));
  for (const id of Object.values(IDS)) {
    const { recentCalls: _, ...head } = (await from.stores.instances.readHead(id)) ?? {};
    const { recentCalls: __, ...stored } = (await to.stores.instances.readHead(id)) ?? {};
    assert.equal(stored, head);
  }
  const listed = async ({ stores }: typeof to) =>
    (await stores.listings.load(ACCOUNT_ID)).map(({ version: _, ...row }) => row);
  const byId = (a: { instanceId: string }, b: { instanceId: string }) =>
    a.instanceId < b.instanceId ? -1 : 1;
  assert.equal((await listed(to)).sort(byId), (await listed(from)).sort(byId));
});

imported('accepts a reset, and can be exported again', async () => {
  await using from = await source();
  await using to = await target();
  await importOf(to, await exportOf(from));
  const { body } = await to.ask(IDS.empty, { kind: 'reset', mode: 'initial' });
  assert.ok(body.length > 0);
  const again = await exportOf(to);
  assert.is(again.split('\n').length, (await exportOf(from)).split('\n').length);
});

// Such a head would have a flag that release 1.0 refuses, although the instance has no tags.
imported('stores no tags for an empty object', async () => {
  await using from = await source();
  await using to = await target();
  const untag = (line: object) => ({ ...line, tags: {} });
  const edited = changed(await exportOf(from), 'instance', untag);
  assert.is((await importOf(to, edited)).code, 0);
  for (const id of Object.values(IDS)) {
    const { tagsJson } = (await to.stores.instances.readHead(id)) ?? {};
    assert.is.not(tagsJson, '{}', id);
  }
});

lines.run();
imported.run();
