import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Browser } from '#test/console/browser';
import { OTHER_ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';

const NAME = '=HYPERLINK("http://evil.example")';
const MONTH = Date.UTC(2026, 0, 1);

/** The console's answer with usage by instance. */
type Shown = {
  readonly month: string;
  readonly cycles: number;
  readonly instances: readonly { readonly id: string; name: string; cycles: number }[];
  readonly other_cycles: number;
  readonly is_complete: boolean;
};

async function make(browser: Browser, name: string): Promise<string> {
  return String((await browser.expect(201, 'POST', '/instances', { name })).data['id']);
}

/** Sends an instance an observation for each of these times. */
async function observe(browser: Browser, id: string, timesMs: readonly number[]): Promise<void> {
  for (const timeMs of timesMs) {
    const timestamp = new Date(timeMs).toISOString();
    const body = { mode_target: 'ORDER', signal_strength: 0.7, timestamp };
    const { headers } = await browser.expect(200, 'POST', `/instances/${id}/process`, body);
    assert.is(headers['x-throttled'], undefined);
  }
}

/** `count` times, one minute apart, from `fromMs` on. */
const minutes = (fromMs: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => fromMs + 60_000 * index);

async function usageOf(browser: Browser): Promise<Shown> {
  return (await browser.expect(200, 'GET', '/usage/instances')).data as unknown as Shown;
}

/** Creates one instance for each case. Returns the ids by case. */
async function usedAccount(desk: TestConsole, owner: Browser) {
  const [old, turned, young, reset, gone, idle] = [
    await make(owner, 'of last month'),
    await make(owner, NAME),
    await make(owner, 'of this month'),
    await make(owner, 'reset'),
    await make(owner, 'deleted'),
    await make(owner, 'idle'),
  ];
  await observe(owner, old, minutes(MONTH - 86_400_000, 9));
  // Ten observations before the month starts, and seven from its first millisecond.
  await observe(owner, turned, minutes(MONTH - 10 * 60_000, 17));
  await observe(owner, young, minutes(MONTH + 86_400_000, 5));
  await observe(owner, reset, minutes(MONTH + 86_400_000, 4));
  await owner.expect(200, 'POST', `/instances/${reset}/reset`, { mode: 'initial' });
  await observe(owner, reset, minutes(MONTH + 2 * 86_400_000, 2));
  await observe(owner, gone, minutes(MONTH + 86_400_000, 6));
  await owner.expect(200, 'DELETE', `/instances/${gone}`);
  desk.clock.advance(60_000);
  return { old, turned, young, reset, gone, idle };
}

const usage = suite('usage by instance in the console');

usage('counts observations of the month, from the first millisecond in UTC', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { turned, young, reset } = await usedAccount(desk, owner);
  const shown = await usageOf(owner);
  assert.is(shown.month, '2026-01');
  assert.equal(shown.instances, [
    { id: turned, name: NAME, cycles: 7 },
    { id: young, name: 'of this month', cycles: 5 },
    { id: reset, name: 'reset', cycles: 2 },
  ]);
  assert.is(shown.is_complete, true);
});

usage('equals the count of the limiter when `other_cycles` is added', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await usedAccount(desk, owner);
  const shown = await usageOf(owner);
  const { data } = await owner.expect(200, 'GET', '/usage');
  assert.is(shown.cycles, data['cycles_used']);
  assert.is(shown.cycles, 9 + 17 + 5 + 4 + 2 + 6);
  // Backdated cycles, cycles before the reset, and cycles of the deleted instance.
  assert.is(shown.other_cycles, 9 + 10 + 4 + 6);
});

usage('uses no request and no cycle of the account', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await usedAccount(desk, owner);
  const figures = async () => {
    const { data } = await owner.expect(200, 'GET', '/usage');
    return [data['requests_in_window'], data['cycles_used'], data['cycles_reserved']];
  };
  await observe(owner, await make(owner, 'another'), [MONTH]);
  const before = await figures();
  await usageOf(owner);
  await owner.expect(200, 'GET', '/usage/instances/export?format=csv');
  assert.equal(await figures(), before);
});

usage('is computed at most once a minute', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await make(owner, 'Iris');
  await observe(owner, id, [MONTH]);
  assert.is((await usageOf(owner)).instances[0]?.cycles, 1);
  await observe(owner, id, [MONTH + 60_000]);
  desk.clock.advance(59_999);
  assert.is((await usageOf(owner)).instances[0]?.cycles, 1);
  desk.clock.advance(1);
  assert.is((await usageOf(owner)).instances[0]?.cycles, 2);
});

usage('is exported as CSV and JSON without spreadsheet formulas', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { turned, young, reset } = await usedAccount(desk, owner);
  const csv = await owner.expect(200, 'GET', '/usage/instances/export?format=csv');
  assert.is(csv.headers['content-type'], 'text/csv; charset=utf-8');
  assert.is(
    csv.headers['content-disposition'],
    'attachment; filename="usage-accountOfAda-2026-01-instances.csv"',
  );
  assert.is(
    csv.data['text'],
    '\uFEFFmonth,instance_id,instance_name,cycles\r\n' +
      `2026-01,${turned},"'=HYPERLINK(""http://evil.example"")",7\r\n` +
      `2026-01,${young},of this month,5\r\n2026-01,${reset},reset,2\r\n2026-01,other,,29\r\n`,
  );
  const json = await owner.expect(200, 'GET', '/usage/instances/export?format=json');
  assert.equal(json.body[0], {
    ...{ month: '2026-01', instance_id: turned, instance_name: NAME, cycles: 7 },
  });
  for (const query of ['', '?format=xls', '?format=csv&month=2026-01']) {
    const reply = await owner.send('GET', `/usage/instances/export${query}`);
    assert.equal([reply.status, reply.error], [400, 'invalid_request'], query);
  }
});

usage('covers only the session’s own account, for every role', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { young } = await usedAccount(desk, owner);
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  const theirs = await make(stranger, 'Boris');
  await observe(stranger, theirs, minutes(MONTH, 12));
  assert.equal((await usageOf(stranger)).instances, [{ id: theirs, name: 'Boris', cycles: 12 }]);
  for (const role of ['developer', 'billing', 'viewer']) {
    const member = await desk.member(owner, `${role}@example.com`, role);
    const shown = await usageOf(member);
    assert.is(shown.instances[1]?.id, young, role);
    assert.not.match(JSON.stringify(shown), /Boris/);
  }
  for (const path of ['/usage/instances', '/usage/instances/export?format=csv']) {
    await desk.browser().expect(401, 'GET', path);
  }
});

usage('is empty for an account without instances', async () => {
  await using desk = await openConsole();
  const shown = await usageOf(await desk.owner());
  assert.equal([shown.cycles, shown.instances, shown.other_cycles], [0, [], 0]);
  assert.is(shown.is_complete, true);
});

usage.run();
