import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { ACCOUNT_ID } from '#test/engine/instance/instance-fixture';

const ACCOUNT: Account = {
  ...{ id: ACCOUNT_ID, name: 'a', plan: 'free', status: 'active', createdAtMs: 1 },
  limits: { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 },
};

const link = suite('ctl users setup-link');

link('prints a console link for an account without members, and writes an audit line', async () => {
  await using cluster = await clusterInMemory([]);
  await cluster.stores.accounts.create(ACCOUNT);
  const run = async (...argv: string[]) =>
    await ctl(['users', 'setup-link', ...argv], { cluster: cluster.ports });
  const { code, out } = await run(ACCOUNT_ID);
  assert.is(code, 0);
  assert.match(out, new RegExp(`^https://console.example.com/#/set-up/${ACCOUNT_ID}\\.\\w{43}$`));
  const { links } = await cluster.stores.people.members.find(ACCOUNT_ID);
  assert.is(links.length, 1);
  const [month = ''] = await cluster.stores.audit.months(ACCOUNT_ID);
  const lines = await cluster.stores.audit.read(ACCOUNT_ID, month, 2, 2);
  const shown = lines.map(({ text }) => JSON.parse(text));
  assert.equal(
    shown.map(({ action, outcome }) => `${action} ${outcome}`),
    ['account.setup_link done', 'account.setup_link begun'],
  );
  assert.not.match(JSON.stringify(lines), /set-up|\.\w{43}/);
  assert.match((await run('Nobody000001')).err, /there is no account/);
});

link.run();
