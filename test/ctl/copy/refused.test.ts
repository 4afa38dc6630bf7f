import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NamedStores } from '#ctl/command';
import { CorruptState } from '#storage/ports/bytes';
import { changeHead } from '#test/ctl/copy/changed-head';
import {
  copy,
  DEAD,
  type DeadInstallation,
  deadInstallation,
  emptyInstallation,
  OTHER_ID,
  seenBy,
} from '#test/ctl/copy/copy-fixture';
import type { Cluster } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import { IDS } from '#test/ctl/export/export-fixture';
import { ACCOUNT_ID } from '#test/engine/instance/instance-fixture';

const refused = suite('a copy is refused with a one-line error');

let dead: DeadInstallation;

refused.before.each(async () => {
  dead = await deadInstallation();
});
refused.after.each(async () => {
  await dead[Symbol.asyncDispose]();
});

const source = () => seenBy('sqlite:a', dead.cluster);
const there = (target: Cluster) => seenBy('cassandra:b', target);

/** The one-line error of a refused copy. */
async function refusal(from: NamedStores, to: NamedStores, argv?: readonly string[]) {
  const { code, out, err } = await copy(from, to, argv === undefined ? {} : { argv });
  assert.is.not(code, 0, out);
  assert.match(err, /^ctl: [^\n]+$/);
  return err.slice('ctl: '.length);
}

for (const [argv, text] of [
  [['copy', '--to', 'cassandra'], /'--from <place>' not specified/],
  [
    ['copy', '--from', 'postgres:x', '--to', 'cassandra'],
    /--from.*'postgres:x'.* must be sqlite:<file> or cassandra\[:<keyspace>\]/,
  ],
  [['copy', '--from', 'sqlite:', '--to', 'cassandra'], /--from.*'sqlite:'.* must be sqlite:<file>/],
  [
    ['copy', '--from', 'cassandra', '--to', 'cassandra:Drop'],
    /--to.*'cassandra:Drop'.* must be sqlite:<file>/,
  ],
  [['copy', '--from', 'sqlite:a', '--to', 'sqlite:a'], /^--from and --to both name sqlite:a$/],
  [
    ['copy', '--from', 'cassandra', '--to', 'sqlite:a', '--secret-file', 'x'],
    /^sqlite:a has no generated secret: omit --secret-file/,
  ],
] as const) {
  refused(`for ${argv.slice(1).join(' ')}`, async () => {
    await using target = await emptyInstallation();
    assert.match(await refusal(source(), there(target), argv), text);
  });
}

refused('for a source that has never had a node', async () => {
  await using empty = await emptyInstallation();
  await using target = await emptyInstallation();
  assert.match(await refusal(there(empty), there(target)), /^no engine has ever owned a shard/);
});

refused('for a source with running nodes, which keep running', async () => {
  const { journals } = dead.cluster.stores;
  let slot = 100;
  const growing: NamedStores = {
    ...source(),
    journals: {
      ...journals,
      async readHead(incarnation, read) {
        slot += 1;
        const records = new Uint8Array();
        const append = { incarnation: DEAD.engine, slot, records, lowWaterMark: 3 };
        await journals.append({ ...append, deleteBelow: undefined });
        return await journals.readHead(incarnation, read);
      },
    },
  };
  await using target = await emptyInstallation();
  assert.is(
    await refusal(growing, there(target)),
    'the process at e1:1 serves sqlite:a: stop the process first',
  );
  assert.is(await journals.isSealed(DEAD.engine), false);
});

refused('if a node starts at the source meanwhile', async () => {
  const { accounts, journals } = dead.cluster.stores;
  const beginning: NamedStores = {
    ...source(),
    accounts: {
      ...accounts,
      async list(page) {
        await journals.begin('e2', 'e2:1');
        return await accounts.list(page);
      },
    },
  };
  await using target = await emptyInstallation();
  assert.match(await refusal(beginning, there(target)), /^a process served sqlite:a /);
});

refused('for a target of another cluster', async () => {
  await using target = await emptyInstallation();
  await target.joinEngine('a');
  assert.is(
    await refusal(source(), there(target)),
    'cassandra:b is not empty: it has the data of another cluster; use an empty place',
  );
});

refused('for a target with another number of shards', async () => {
  await using target = await emptyInstallation();
  await target.stores.shards.fixCount('engine', 64);
  assert.is(
    await refusal(source(), there(target)),
    'cassandra:b has 64 shards for engines, the source has 8: copy to an empty place',
  );
});

refused('for a target that a node has served since its copy was complete', async () => {
  await using target = await emptyInstallation();
  assert.is((await copy(source(), there(target))).code, 0);
  const { shards } = target.stores;
  const from = await shards.read('engine', 3);
  await shards.change({ service: 'engine', shard: 3, from, owner: 'e9' });
  assert.match(
    await refusal(source(), there(target)),
    /^a process served cassandra:b or its source/,
  );
});

refused('for a target with an account that the source lacks', async () => {
  await using target = await emptyInstallation();
  const first = await copy(source(), there(target));
  assert.is(first.code, 0);
  const { accounts } = target.stores;
  const found = await accounts.find(OTHER_ID);
  assert.ok(found);
  await accounts.create({ ...found.account, id: 'Acc0unt00003' });
  const expected = 'account Acc0unt00003 exists only at the target';
  assert.is(await refusal(source(), there(target)), expected);
});

refused('for an account that has changed at the target', async () => {
  await using target = await emptyInstallation();
  assert.is((await copy(source(), there(target))).code, 0);
  await target.stores.meters.erase(ACCOUNT_ID);
  assert.is(
    await refusal(source(), there(target)),
    `account ${ACCOUNT_ID} was opened at the target and has changed since: meter`,
  );
});

refused('for a head that cannot be read', async () => {
  const { instances } = dead.cluster.stores;
  const damaged: NamedStores = {
    ...source(),
    instances: {
      ...instances,
      async *headPages(bucket) {
        for await (const page of instances.headPages(bucket)) {
          yield new Map([...page, [IDS.long, new CorruptState('the head does not match')]]);
        }
      },
    },
  };
  await using target = await emptyInstallation();
  assert.is(
    await refusal(damaged, there(target)),
    `${IDS.long} cannot be copied: the head does not match`,
  );
});

refused('for a journal with a missing record', async () => {
  const { journals } = dead.cluster.stores;
  const lacking: NamedStores = {
    ...source(),
    journals: {
      ...journals,
      async readSlots(incarnation, from, to) {
        const slots = await journals.readSlots(incarnation, from, to);
        return incarnation === DEAD.engine
          ? slots.map((one) => (one.slot === 40 ? { ...one, records: EMPTY } : one))
          : slots;
      },
    },
  };
  await using target = await emptyInstallation();
  assert.match(
    await refusal(lacking, there(target)),
    /^instance inst_\w+ lacks versions \d+ to \d+$/,
  );
  const status = (await target.stores.accounts.find(ACCOUNT_ID))?.account.status;
  assert.is(status, 'importing');
});

const EMPTY = Buffer.from('[1,[\n\n]]');

const differing = suite('a difference');

differing.before.each(async () => {
  dead = await deadInstallation();
});
differing.after.each(async () => {
  await dead[Symbol.asyncDispose]();
});

for (const table of ['history', 'drift'] as const) {
  differing(`between both sides in one byte of a ${table} chunk is found`, async () => {
    await using target = await emptyInstallation();
    assert.is((await copy(source(), there(target))).code, 0);
    const { instances } = target.stores;
    const reading = table === 'history' ? 'readHistory' : 'readDrift';
    const changed: NamedStores = {
      ...there(target),
      instances: {
        ...instances,
        async [reading](id: string, newest: number, count: number) {
          const rows: { timestampMs: number }[] = await instances[reading](id, newest, count);
          return rows.map((row, index) =>
            index === 7 ? { ...row, timestampMs: row.timestampMs + 1 } : row,
          );
        },
      },
    };
    assert.match(
      await refusal(source(), changed),
      /^instance inst_\w+ differs at the target: its (observations|drift events) up to/,
    );
  });
}

differing(
  'is found if only the target has an instance, unless the instance is deleted',
  async () => {
    await using target = await emptyInstallation();
    assert.is((await copy(source(), there(target))).code, 0);
    const { instances } = target.stores;
    const head = await instances.readHead(IDS.long);
    assert.ok(head);
    const rows = { history: [], drift: [], answers: [] };
    const marker = { ...head, deletedAtMs: 1 };
    await instances.checkpoint([{ instanceId: 'inst_0', head: marker, ...rows }]);
    assert.is((await copy(source(), there(target))).code, 0);
    await instances.checkpoint([{ instanceId: 'inst_1', head, ...rows }]);
    assert.is(await refusal(source(), there(target)), 'bucket 0 has 1 more heads at the target');
  },
);

differing('between head and rows on both sides is copied and reported', async () => {
  await changeHead(dead.cluster.stores.instances, IDS.long, (head) => {
    return { model: head.model.with(5, 0.123) };
  });
  await using target = await emptyInstallation();
  const { code, out } = await copy(source(), there(target));
  assert.is(code, 3);
  const last = out.split('\n').at(-1) ?? '';
  assert.match(last, /^Both sides are equal, but the head contradicts the rows of 1 instance\./);
  assert.ok(last.includes(IDS.long));
  assert.is((await target.stores.accounts.find(ACCOUNT_ID))?.account.status, 'suspended');
});

differing('between head and drift events on both sides is copied and reported', async () => {
  // The newest events are missing, as if their chunk could not be found.
  await changeHead(dead.cluster.stores.instances, IDS.long, ({ driftCount }) => {
    return { newestDrift: { after: driftCount, rows: '' } };
  });
  await using target = await emptyInstallation();
  const { code, out } = await copy(source(), there(target));
  assert.is(code, 3);
  assert.ok(out.split('\n').at(-1)?.includes(IDS.long), out);
});

refused('if the stores cannot be opened', async () => {
  const { code, err } = await ctl(['copy', '--from', 'sqlite:a', '--to', 'cassandra'], {});
  assert.equal([code, err], [1, 'ctl: this test names no stores']);
});

refused.run();
differing.run();
