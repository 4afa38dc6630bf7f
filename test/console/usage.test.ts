import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { ACCOUNT_ID, OTHER_ACCOUNT_ID, openConsole } from '#test/console/console-fixture';
import { admission, custom, limiterUnderTest, settlement } from '#test/limiter/limiter-fixture';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NAME = '=HYPERLINK("http://evil.example")';

/**
 * A console with a real limiter. Its account used one key in January and another key in February.
 */
async function usedConsole() {
  const { limiter, accounts, clock } = await limiterUnderTest(custom(60, 1_000));
  for (const id of [ACCOUNT_ID, OTHER_ACCOUNT_ID]) {
    await limiter.admin.createAccount({ id, name: 'an account', choice: custom(60, 1_000) });
  }
  const ids: string[] = [];
  let calls = 0;
  const spend = async (name: string, cycles: number) => {
    const { key, record } = await limiter.admin.createKey(ACCOUNT_ID, { name, scope: 'full' });
    ids.push(record.id);
    calls += 1;
    const digest = digestOf(key);
    await limiter.client.ask(admission(calls, cycles, digest, 'full', ACCOUNT_ID));
    await limiter.client.ask(settlement(calls, cycles, ACCOUNT_ID));
  };
  await spend('worker', 30);
  clock.advance(20 * DAY_MS);
  await spend(NAME, 8);
  clock.advance(2 * DAY_MS);
  const desk = await openConsole(
    {},
    { accounts, clock, keys: limiter.admin, usage: limiter.admin },
  );
  return { desk, ids };
}

type Shown = Record<string, unknown>;

const usage = suite('usage in the console');

let used: Awaited<ReturnType<typeof usedConsole>>;
let owner: Awaited<ReturnType<typeof used.desk.owner>>;

// The clock passes each second of three weeks, which takes long. All tests share one console.
usage.before(async () => {
  used = await usedConsole();
  owner = await used.desk.owner();
});
usage.after(async () => {
  await used?.desk[Symbol.asyncDispose]();
});

usage('shows the cycles of the month by day and by key, with a forecast', async () => {
  const { ids } = used;
  const { data } = await owner.expect(200, 'GET', '/usage');
  assert.equal(
    [data['cycles_used'], data['cycles_per_month'], data['other_cycles']],
    [8, 1_000, 0],
  );
  assert.equal(data['keys'], [{ id: ids[1], name: NAME, cycles: 8 }]);
  const days = data['days'] as { date: string; cycles: number }[];
  assert.equal(days[3], { date: '2026-02-04', cycles: 8 });
  // It is noon on the sixth day, with 8 cycles since the fourth day began.
  assert.equal(data['forecast'], { cycles: 80 });
});

usage('is available for earlier months, newest first', async () => {
  const { ids } = used;
  const { data } = await owner.expect(200, 'GET', '/usage/months');
  const months = data as unknown as Shown[];
  assert.equal(
    months.map(({ month, cycles }) => [month, cycles]),
    [
      ['2026-02', 8],
      ['2026-01', 30],
    ],
  );
  const [{ masked, ...key } = {}] = (months[1]?.['keys'] ?? []) as Shown[];
  assert.equal(key, { id: ids[0], name: 'worker', cycles: 30 });
  assert.match(String(masked), /^svc_sk_…\w{4}$/);
});

usage('is exported as CSV and JSON, in full or for a month, without formulas', async () => {
  const { ids } = used;
  const file = async (query: string) => await owner.send('GET', `/usage/export?${query}`);
  const csv = await file('format=csv');
  assert.is(csv.headers['content-type'], 'text/csv; charset=utf-8');
  assert.is(csv.headers['content-disposition'], 'attachment; filename="usage-accountOfAda.csv"');
  const text = String(csv.data['text']).replace(/^\uFEFF/, '');
  assert.is(
    text,
    'date,key_id,key_name,cycles\r\n' +
      `2026-01-15,${ids[0]},worker,30\r\n` +
      `2026-02-04,${ids[1]},"'=HYPERLINK(""http://evil.example"")",8\r\n`,
  );
  const json = await file('format=json&month=2026-01');
  assert.is(
    json.headers['content-disposition'],
    'attachment; filename="usage-accountOfAda-2026-01.json"',
  );
  assert.match(JSON.stringify(json.data), /worker/);
  assert.not.match(JSON.stringify(json.data), /HYPERLINK/);
});

usage('is not exported for an invalid query', async () => {
  for (const query of ['', '?format=xls', '?format=csv&month=January', '?format=csv&account=x']) {
    const reply = await owner.send('GET', `/usage/export${query}`);
    assert.equal([reply.status, reply.error], [400, 'invalid_request'], query);
  }
});

usage('is shown to every role, and only for the session’s own account', async () => {
  const { desk } = used;
  for (const role of ['developer', 'billing', 'viewer']) {
    const member = await desk.member(owner, `${role}@example.com`, role);
    await member.expect(200, 'GET', '/usage/months');
  }
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  const { data } = await stranger.expect(200, 'GET', '/usage');
  assert.equal([data['account_id'], data['cycles_used'], data['keys']], [OTHER_ACCOUNT_ID, 0, []]);
  const reply = await stranger.send('GET', '/usage/export?format=csv');
  assert.is(String(reply.data['text']).split('\r\n').length, 2);
  for (const path of ['/usage', '/usage/months', '/usage/export?format=csv']) {
    await desk.browser().expect(401, 'GET', path);
  }
});

usage.run();
