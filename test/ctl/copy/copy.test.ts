import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Compared } from '#ctl/copy/buckets';
import type { Clock } from '#stdlib/clock';
import { FEED_AGE_MS, FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { SHARDS } from '#test/ctl/cluster-fixture';
import {
  copy,
  DELETED_ID,
  type DeadInstallation,
  deadInstallation,
  emptyInstallation,
  hasty,
  LATE,
  seenBy,
  watched,
} from '#test/ctl/copy/copy-fixture';
import { everythingStored } from '#test/ctl/copy/everything-stored';
import { ctlOn, limiting, serving } from '#test/ctl/ctl-on-cluster';
import { IDS } from '#test/ctl/export/export-fixture';
import { answerText, QUESTIONS } from '#test/ctl/reader-questions';
import { ACCOUNT_ID, callOf } from '#test/engine/instance/instance-fixture';
import { FEED_START_MS, feedCheckpoint } from '#test/storage/contracts/feed-records';
import { refusalOf } from '#test/support/settled';

let dead: DeadInstallation;

const whole = suite('a copy');

whole.before(async () => {
  dead = await deadInstallation();
});
whole.after(async () => {
  await dead?.[Symbol.asyncDispose]();
});

const source = () => seenBy('sqlite:a', dead.cluster);

whole('reports its counts, and that both sides are equal', async () => {
  await using target = await emptyInstallation();
  const { code, out, err } = await copy(source(), seenBy('cassandra:b', target));
  assert.equal([code, err], [0, '']);
  assert.equal(out.split('\n'), [
    'Copied sqlite:a to cassandra:b: 2 accounts, 2 users, 4 instances, 764 observations, 737 drift events,',
    '2 stored answers, 1 deletion marker, 87 journal records.',
    'Both sides are equal, and a replay of rows and journals gives every head.',
  ]);
});

whole('contains everything except expired answers', async () => {
  await using target = await emptyInstallation();
  assert.is((await copy(source(), seenBy('cassandra:b', target))).code, 0);
  const there = await everythingStored(seenBy('b', target), 1);
  const { instances, ...others } = (await everythingStored(source(), 1)) as Stored;
  const young = instances.answers.filter(({ answer }) => answer.key !== 'process:old');
  assert.is(young.length, 2);
  assert.equal(there, { ...others, instances: { ...instances, answers: young } });
});

type Stored = { instances: { answers: { answer: { key: string } }[] } };

whole('gives the same answers after new nodes take over the shards of the dead nodes', async () => {
  await using target = await emptyInstallation();
  const { code, err } = await copy(source(), seenBy('cassandra:b', target));
  assert.is(code, 0, err);
  await target.joinEngine('a');
  await target.joinLimiter('l');
  await serving(target, { a: SHARDS });
  await limiting(target, { l: SHARDS });
  for (const id of [IDS.drifting, IDS.reset, IDS.long, LATE.created]) {
    for (const command of QUESTIONS) {
      const answer = await dead.engine.ask(callOf(command, { instanceId: id }));
      assert.is(
        answerText(await target.ask(id, command)),
        answerText(answer),
        `${command.kind} of ${id}`,
      );
    }
  }
  for (const id of [IDS.empty, LATE.deleted]) {
    assert.match(
      String(await refusalOf(() => target.ask(id, { kind: 'readInstance' }))),
      /no such/,
    );
  }
  assert.equal(target.bugs, []);
  assert.match(await ctlOn(target).text('verify', IDS.long), /gives the head, bit for bit/);
});

whole('writes nothing in a second run, and compares everything again', async () => {
  await using target = await emptyInstallation();
  assert.is((await copy(source(), seenBy('cassandra:b', target))).code, 0);
  const writes: string[] = [];
  const noting = watched(seenBy('cassandra:b', target), async (write, name) => {
    writes.push(name);
    return await write();
  });
  const { code, out } = await copy(source(), noting);
  assert.is(code, 0);
  assert.match(out, /^An earlier run had already copied 5 instances\.$/m);
  assert.match(out, /^Both sides are equal/m);
  // In the second run, these calls only read.
  const asking = ['accounts.changeKeys', 'shards.fixCluster', 'shards.fixCount'];
  assert.equal([...new Set(writes)].sort(), asking);
});

whole('can be copied back, without any difference', async () => {
  await using there = await emptyInstallation();
  assert.is((await copy(source(), seenBy('cassandra:b', there))).code, 0);
  await using back = await emptyInstallation();
  const argv = ['copy', '--from', 'cassandra', '--to', 'sqlite:c'];
  const { code, err } = await copy(seenBy('cassandra:b', there), seenBy('sqlite:c', back), {
    argv,
  });
  assert.is(code, 0, err);
  assert.equal(
    await everythingStored(seenBy('c', back), 1),
    await everythingStored(seenBy('b', there), 1),
  );
});

whole('accepts that the target drops rows of a feed that are older than seven days', async () => {
  await using target = await emptyInstallation();
  const there = seenBy('cassandra:b', target);
  const feeds = { ...there.feeds, readChunks: async () => [] };
  const dropping = { ...there, feeds };
  const young = await copy(source(), dropping);
  assert.equal([young.code, young.err], [3, FEED_DIFFERS]);
  const lastRowMs = FEED_START_MS + 4 * FEED_CHUNK_ROWS * 1_000;
  const clock = { ...hasty(), wallMs: () => lastRowMs + FEED_AGE_MS };
  assert.is((await copy(source(), dropping, { clock })).code, 0);
});

const FEED_DIFFERS = `ctl: account ${ACCOUNT_ID} differs at the target: feed`;

whole('drops late writes to the feeds of deleted accounts', async () => {
  await using target = await emptyInstallation();
  assert.is((await copy(source(), seenBy('cassandra:b', target))).code, 0);
  await target.stores.feeds.checkpoint([feedCheckpoint(DELETED_ID, 1, 3)]);
  assert.is(await target.stores.feeds.readHead(DELETED_ID), undefined);
});

whole('prints its progress separately from its result', async () => {
  await using target = await emptyInstallation();
  let nowMs = 0;
  const clock: Clock = {
    ...hasty(),
    monotonicMs: () => {
      nowMs += 700;
      return nowMs;
    },
  };
  const { out, err } = await copy(source(), seenBy('cassandra:b', target), { clock });
  assert.match(err, /^instances copied: \d+$/m);
  assert.match(err, /^instances compared: \d+$/m);
  assert.not.match(out, /(copied|compared): /m);
});

whole('has the same counts in JSON', async () => {
  await using target = await emptyInstallation();
  const argv = ['copy', '--from', 'sqlite:a', '--to', 'cassandra', '--json'];
  const { out } = await copy(source(), seenBy('cassandra:b', target), { argv });
  assert.equal(JSON.parse(out), {
    ...{ from: 'sqlite:a', to: 'cassandra:b', accounts: 2, users: 2, instances: 4 },
    ...{ observations: 764, drift_events: 737, deleted: 1, stored_answers: 2, records: 87 },
    ...{ written: 5, unproven: 0, contradicted: [] },
  });
});

whole('reports no contradiction for an instance whose second comparison succeeds', () => {
  const compared = new Compared();
  compared.add(IDS.long, { kind: 'different', differences: ['row 1 is not there'] });
  compared.add(LATE.created, { kind: 'different', differences: ['row 1 is not there'] });
  compared.add(LATE.created, { kind: 'same', start: 'floor', since: 1, cycles: 3 });
  assert.equal([...compared.contradicted], [IDS.long]);
});

whole.run();
