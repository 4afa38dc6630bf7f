import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CAPACITY } from '#ctl/capacity/command';
import { synopsis } from '#ctl/command-line';
import { COMMANDS } from '#ctl/ctl';
import type { MeterUsage } from '#grpc/admin';
import { run, serviceUnderTest } from '#test/ctl/ctl-on-service';
import { admitKey } from '#test/limiter/limiter-fixture';

/** A month with lost cycles, without usage by key. */
const USAGE: MeterUsage = {
  limits: { requestsPerMinute: 60, cyclesPerMonth: 100 },
  requestsInWindow: 4,
  windowResetAtS: undefined,
  cyclesUsed: 40,
  cyclesReserved: 5,
  monthResetAtS: Date.UTC(2026, 1, 1) / 1_000,
  monthWatermark: 52,
  windowWatermark: 14,
  cyclesExpired: 3,
  cyclesLost: 10,
  cyclesByDay: [0, 30, 10],
  keys: [],
  finishedMonths: [],
};

const work = suite('ctl with a running service');

work('creates an account and a working key, and shows the key once', async () => {
  await using service = await serviceUnderTest();
  const created = await service.ctl('accounts', 'create', 'Ada & Co', '--plan', 'indie');
  assert.is(created.code, 0);
  const [headings, row] = created.out.split('\n');
  assert.match(
    headings ?? '',
    /^ACCOUNT +NAME +PLAN +STATUS +REQUESTS\/MIN +CYCLES\/MONTH +CREATED$/,
  );
  assert.match(
    row ?? '',
    /^\w{12} {2}Ada & Co {2}indie {2}active {2}60 +100000 +2026-01-15T12:00:00/,
  );
  const id = row?.slice(0, 12) ?? '';

  const made = await service.ctl('keys', 'create', id);
  const key = made.out.split('\n')[0] ?? '';
  assert.is((await admitKey(service.limiter, key)).verdict, 'admitted');
  const listed = await service.ctl('keys', 'list', id);
  assert.match(listed.out, /^key_[0-9a-f]{16} {2}- +svc_sk_…\w{4} {2}full +active/m);
  assert.not.ok(listed.out.includes(key.slice(19)));
});

work('creates read-only keys with an expiry', async () => {
  await using service = await serviceUnderTest();
  const expires = '2026-02-01T00:00:00.000Z';
  const args = ['keys', 'create', service.id, '--scope', 'read', '--expires', expires, '--json'];
  const { out } = await service.ctl(...args);
  const made = JSON.parse(out);
  assert.equal([made.scope, made.expires_at], ['read', expires]);
  assert.is((await admitKey(service.limiter, made.key)).verdict, 'read_only_key');
});

// Report 20: `ctl keys create --expires` accepted a time in the past.
work('creates no key that has already expired', async () => {
  await using service = await serviceUnderTest();
  for (const time of ['2026-01-15T11:59:59Z', '2026-01-15T12:00:00Z', '1999-01-01T00:00:00Z']) {
    const { code, err } = await service.ctl('keys', 'create', service.id, '--expires', time);
    assert.equal([code, err], [2, 'ctl: expires_at: must be a time in the future']);
  }
  const { out } = await service.ctl('keys', 'list', service.id, '--json');
  assert.is(JSON.parse(out).length, 1);
});

work('revokes a key immediately', async () => {
  await using service = await serviceUnderTest();
  const { code, out } = await service.ctl('keys', 'revoke', service.id, service.record.id);
  assert.is(code, 0);
  assert.match(out, /revoked/);
  assert.is((await admitKey(service.limiter, service.key)).verdict, 'unknown_key');
});

work('sets and removes the model of an account, but refuses an unknown model', async () => {
  await using service = await serviceUnderTest();
  const chosen = await service.ctl('accounts', 'model', service.id, '1.0');
  assert.match(chosen.out, /^ACCOUNT +NAME +MODEL\n\w{12} +.* {2}1\.0$/m);
  assert.is((await admitKey(service.limiter, service.key)).allowance?.modelVersion, '1.0');
  const unknown = await service.ctl('accounts', 'model', service.id, '9.0');
  assert.is(unknown.code, 2);
  assert.match(unknown.err, /model_version/);
  assert.match((await service.ctl('accounts', 'model', service.id, 'none')).out, / {2}none$/m);
  assert.is((await admitKey(service.limiter, service.key)).allowance?.modelVersion, undefined);
});

work('sets the retention of an account, and restores the retention of its plan', async () => {
  await using service = await serviceUnderTest();
  const retention = (...args: string[]) =>
    service.ctl('accounts', 'retention', service.id, ...args);
  for (const choice of ['30', 'none', 'plan', '36500', '1']) {
    const { code, out } = await retention(choice);
    assert.is(code, 0);
    assert.match(
      out,
      new RegExp(`^ACCOUNT +NAME +PLAN +RETENTION\\n\\w{12} +.* {2}${choice}$`, 'm'),
    );
  }
  const shown = JSON.parse((await retention('30', '--json')).out);
  assert.is(shown.retention_days, 30);
  assert.not('retention_days' in JSON.parse((await retention('plan', '--json')).out));
  for (const wrong of ['0', '1.5', '36501', '999999999999', '1e3', 'never', '', '30d']) {
    const { code, out, err } = await retention(wrong);
    assert.equal([code, out], [2, '']);
    const expected = `retention must be 1 to 36500 days, plan or none, not "${wrong}"`;
    assert.is(err, `ctl: ${expected}`);
  }
  assert.is((await retention('-5')).code, 2);
});

work('shows a scheduled plan change and its time', async () => {
  await using service = await serviceUnderTest();
  const atMs = Date.UTC(2026, 1, 1);
  const later = { choice: { plan: 'free' }, atMs } as const;
  await service.limiter.admin.setPlan(service.id, { plan: 'pro' }, later);
  const { out } = await service.ctl('accounts', 'list');
  assert.match(out, /^ACCOUNT .* CREATED +NEXT PLAN$/m);
  assert.match(out, /^\w{12} .* pro +active +300 .* free at 2026-02-01T00:00:00\.000Z$/m);
  const [shown] = JSON.parse((await service.ctl('accounts', 'list', '--json')).out);
  assert.is(shown.plan_change.limits.cycles_per_month, 10_000);
  const replaced = await service.ctl('accounts', 'plan', service.id, 'indie');
  assert.not.match(replaced.out, /NEXT PLAN/);
});

work('suspends and resumes an account', async () => {
  await using service = await serviceUnderTest();
  assert.match((await service.ctl('accounts', 'suspend', service.id)).out, /suspended/);
  assert.is((await admitKey(service.limiter, service.key)).verdict, 'account_suspended');
  assert.match((await service.ctl('accounts', 'resume', service.id)).out, /active/);
  assert.is((await admitKey(service.limiter, service.key)).verdict, 'admitted');
});

work('changes plans, and requires limits for the enterprise plan', async () => {
  await using service = await serviceUnderTest();
  const plan = (...rest: string[]) => service.ctl('accounts', 'plan', service.id, ...rest);
  assert.match((await plan('free')).out, /free +active +10 +10000/);
  assert.is((await plan('enterprise')).code, 2);
  const numbers = ['--requests-per-minute', '5', '--cycles-per-month', '6'];
  assert.match((await plan('enterprise', ...numbers)).out, /enterprise +active +5 +6/);
  assert.is((await plan('pro', ...numbers)).code, 2);
  assert.match((await plan('gold')).err, /^ctl: .*'gold' is invalid/);
  assert.match((await service.ctl('accounts', 'list')).out, /enterprise/, 'nothing changed since');
});

work('repairs a month that a wrong clock has set, and keeps a correct month', async () => {
  await using service = await serviceUnderTest();
  await service.admit(1, 3);
  await service.settle(1, 3);
  const untouched = await service.ctl('usage', 'reset', service.id);
  assert.match(untouched.out, /^cycles +3 +0 +100 +97 .* 2026-02-01T00:00:00\.000Z$/m);
  const toMs = Date.UTC(2036, 4, 7) - service.clock.wallMs();
  service.clock.stepWall(toMs);
  await service.admit(2, 5);
  await service.settle(2, 5);
  service.clock.stepWall(-toMs);
  assert.match((await service.ctl('usage', service.id)).out, /^cycles +5 .* 2036-06-01/m);
  const { code, out } = await service.ctl('usage', 'reset', service.id);
  assert.is(code, 0);
  assert.match(out, /^cycles +0 +0 +100 +100 .* 2026-02-01T00:00:00\.000Z$/m);
  assert.match((await service.ctl('usage', service.id)).out, /^cycles +0 .* 2026-02-01/m);
  assert.match((await service.ctl('usage', 'reset', 'Nobody000001')).err, /no such account/);
});

work('shows the usage of an account', async () => {
  await using service = await serviceUnderTest();
  await service.admit(1, 3);
  const { out } = await service.ctl('usage', service.id);
  assert.match(out, /^ +USED +RESERVED +LIMIT +LEFT +MARK +EXPIRED +LOST +UNTIL$/m);
  assert.match(out, /^requests +1 +- +60 +59 +\d+ +- +- +2026-01-15T12:01:00\.000Z$/m);
  assert.match(out, /^cycles +0 +3 +100 +97 +\d+ +0 +0 +2026-02-01T00:00:00\.000Z$/m);
  const { out: json } = await service.ctl('usage', service.id, '--json');
  assert.is(JSON.parse(json).cycles_reserved, 3);
});

work('shows the remaining cycles of an account, and its lost cycles', async () => {
  await using service = await serviceUnderTest(USAGE);
  const { out } = await service.ctl('usage', service.id);
  assert.match(out, /^requests +4 +- +60 +56 +14 +- +- +-$/m);
  assert.match(out, /^cycles +40 +5 +100 +55 +52 +3 +10 +2026-02-01T00:00:00\.000Z$/m);
  assert.match(out, /MARK: the limiter grants calls up to this count/);
  assert.match(out, /^2026-01-02 +30\n2026-01-03 +10$/m);
  const { out: json } = await service.ctl('usage', service.id, '--json');
  assert.equal(JSON.parse(json), {
    account_id: service.id,
    requests_per_minute: 60,
    requests_in_window: 4,
    window_mark: 14,
    cycles_per_month: 100,
    cycles_used: 40,
    cycles_reserved: 5,
    cycles_remaining: 55,
    month_mark: 52,
    cycles_expired: 3,
    cycles_lost: 10,
    month_ends_at: '2026-02-01T00:00:00.000Z',
    days: [
      { date: '2026-01-01', cycles: 0 },
      { date: '2026-01-02', cycles: 30 },
      { date: '2026-01-03', cycles: 10 },
    ],
    keys: [],
    other_cycles: 40,
  });
});

work('shows months by day, and counts cycles of unknown keys as other cycles', async () => {
  const keys = [{ prefix: 'not known', cyclesByDay: [4] }];
  const finishedMonths = [{ endsAtMs: Date.UTC(2026, 0, 1), cyclesByDay: [0, 7], keys }];
  await using service = await serviceUnderTest({ ...USAGE, finishedMonths });
  const { out } = await service.ctl('usage', 'months', service.id);
  assert.match(out, /^2026-01: 40 cycles$/m);
  assert.match(out, /^2025-12: 7 cycles\n\nDAY \(UTC\) +CYCLES\n2025-12-02 +7$/m);
  const { out: json } = await service.ctl('usage', 'months', service.id, '--json');
  const [, december] = JSON.parse(json);
  assert.equal([december.month, december.keys, december.other_cycles], ['2025-12', [], 7]);
});

work('lists more accounts than one page has', async () => {
  await using service = await serviceUnderTest();
  for (let i = 0; i < 1_000; i += 1) {
    await service.limiter.admin.createAccount({ name: `${i}`, choice: { plan: 'free' } });
  }
  const { out } = await service.ctl('accounts', 'list', '--json');
  assert.is(new Set(JSON.parse(out).map(({ id }: { id: string }) => id)).size, 1_001);
});

const wrong = suite('the command line of ctl');

// Report 37: a wrong command line was refused with raw texts of the parser and of the validator.
wrong('has one-line errors and exit code 2, or 4 for an unknown object', async () => {
  await using service = await serviceUnderTest();
  const cases: [number, string[], RegExp][] = [
    [2, ['accounts', 'burn'], /unknown command 'burn'; see "ctl accounts --help"/],
    [
      2,
      ['accounts', 'create'],
      /missing required argument 'name'; see "ctl accounts create --help"/,
    ],
    [2, ['accounts', 'create', 'a', 'b'], /too many arguments/],
    [2, ['accounts', 'list', '--bogus'], /--bogus.*see "ctl accounts list --help"/],
    [2, ['accounts', 'list', '--scope', 'read'], /unknown option '--scope'/],
    [
      2,
      ['accounts', 'plan', service.id, 'gold'],
      /Allowed choices are free, indie, pro, enterprise/,
    ],
    [2, ['accounts', 'create', 'x'.repeat(101)], /1 to 100 characters/],
    [
      2,
      ['accounts', 'create', 'a', '--requests-per-minute', 'n'],
      /must be a whole number from 1 to/,
    ],
    [4, ['accounts', 'suspend', 'Nobody000001'], /there is no such account/],
    [
      2,
      ['keys', 'create', service.id, '--scope', 'write'],
      /'write' is invalid. It must be full\|read\|audit\|billing/,
    ],
    [2, ['keys', 'create', service.id, '--expires', 'tomorrow'], /must be a time such as/],
    [2, ['keys', 'create', service.id, '--networks', '::1,all'], /"all", which is no IP address/],
    [4, ['keys', 'revoke', service.id, '../..'], /no route DELETE|no such/],
    [4, ['usage', 'Nobody000001'], /there is no such account/],
    [2, ['accounts', 'list', '--admin', 'nonsense'], /--admin takes an address/],
    [2, ['accounts', 'list', '--timeout', '0'], /must be 1 to 86400 seconds/],
    [2, ['copy', '--from', 'sqlite:a'], /required option '--to <place>' not specified/],
    [2, ['copy', '--from', 'sqlite', '--to', 'disk:b'], /must be sqlite:<file> or cassandra/],
  ];
  for (const [exitCode, args, text] of cases) {
    const { code, out, err } = await service.ctl(...args);
    assert.is(code, exitCode, args.join(' '));
    assert.not.match(err, /Invalid input/i);
    assert.match(err, /^ctl: [^\n]+$/, args.join(' '));
    assert.match(err, text);
    assert.is(out, '');
  }
});

wrong('has a help text, which ctl also prints without arguments', async () => {
  for (const argv of [[], ['--help'], ['help']]) {
    const { code, out } = await run(argv, 'http://127.0.0.1:1');
    assert.is(code, 0);
    for (const { words, summary } of COMMANDS) {
      assert.match(out, new RegExp(`^  ${words.join(' ')} .*${summary.replaceAll('`', '.')}`, 'm'));
    }
  }
});

// Report 37: the help had no line for a command, and no command had a help of its own.
wrong('has help for each command, with all arguments, options and values', async () => {
  for (const command of COMMANDS) {
    const { code, out } = await run([...command.words, '--help'], 'http://127.0.0.1:1');
    assert.is(code, 0);
    assert.match(out, new RegExp(`^Usage: ctl ${command.words.join(' ')} `));
    const flat = out.replaceAll(/\s+/g, ' ');
    assert.ok(flat.includes(command.description.replaceAll(/\s+/g, ' ')), out);
    for (const { about } of [...command.args, ...Object.values(command.options)]) {
      assert.ok(flat.includes(about), `${about} in ${out}`);
    }
  }
  const { out } = await run(['help', 'capacity'], 'http://127.0.0.1:1');
  assert.match(out, /--observations <n> +observations per second/);
  assert.match(synopsis(CAPACITY), / --observations n --instances n \[--keyed-share part\]/);
});

// Report 37: `ctl accounts` had no list of its commands, and a misspelt command no suggestion.
wrong('has help for each group, and suggestions for misspelt commands', async () => {
  const group = await run(['accounts'], 'http://127.0.0.1:1');
  assert.equal([group.code, group.out], [2, '']);
  assert.match(group.err, /^ {2}accounts suspend <account> /m);
  assert.is((await run(['accounts', '--help'], 'http://127.0.0.1:1')).code, 0);
  for (const [argv, meant] of [
    [['acounts', 'list'], 'accounts'],
    [['accounts', 'lst'], 'list'],
    [['keys', 'create', 'a', '--expire', 'x'], '--expires'],
    [['usage', 'months', 'a', '--jason'], '--json'],
  ] as const) {
    const { code, err } = await run(argv, 'http://127.0.0.1:1');
    assert.is(code, 2);
    assert.match(err, new RegExp(`\\(Did you mean ${meant}\\?\\)`));
  }
});

// Report 37: no shell completed the commands of `ctl`.
wrong('can be completed in a shell: words, options and values', async () => {
  const { out: script } = await run(['completion', 'bash'], 'http://127.0.0.1:1');
  const completed = (line: string) => {
    const words = ['ctl', ...line.split(' ')];
    const test = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_ctl
echo "\${COMPREPLY[@]}"`;
    const bash = spawnSync('bash', ['-c', `${script}\n${test}`], { encoding: 'utf8' });
    assert.is(bash.stderr, '');
    return bash.stdout.trim();
  };
  assert.is(completed('acc'), 'accounts');
  assert.is(completed('accounts re'), 'resume retention'.split(' ').reverse().join(' '));
  assert.match(completed('usage '), /reset/);
  assert.is(completed('--json keys create acc --sc'), '--scope');
  assert.is(completed('accounts create acc --plan pr'), 'pro');
  assert.is(completed('nodes --service l'), 'limiter');
  assert.match(
    (await run(['completion', 'zsh'], 'http://127.0.0.1:1')).out,
    /^autoload .*bashcompinit/,
  );
});

const unserved = suite('ctl without a service');

unserved('explains how to start a service', async () => {
  const { code, err } = await run(['accounts', 'list'], await freeAddress());
  assert.is(code, 1);
  assert.match(
    err,
    /^ctl: no service listens at http:\/\/127\.0\.0\.1:\d+: start a service with "make run"/,
  );
});

unserved('reports another program that listens at the port', async () => {
  const server = createServer((_, response) => response.end('<html>'));
  const address = await listening(server);
  const { code, err } = await run(['accounts', 'list'], address);
  server.close();
  assert.is(code, 1);
  assert.match(err, /is not an admin port of this service/);
});

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function freeAddress(): Promise<string> {
  const server = createServer();
  const address = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return address;
}

work.run();
wrong.run();
unserved.run();
