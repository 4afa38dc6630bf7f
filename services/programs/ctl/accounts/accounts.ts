import type { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import { CUSTOM_LIMITS_MAX, RETENTION_DAYS_MAX, type Retention } from '#accounts/plan';
import { monthBeginOf, monthEndOf, monthNameOf } from '#accounts/quota-windows';
import { type InstancesUsed, instancesUsed } from '#console/usage/instance-usage';
import { KEY_COMMANDS } from '#ctl/accounts/keys';
import { oneCall, pathOf } from '#ctl/admin-client';
import {
  type AccountCommand,
  type AdminClient,
  type ClusterCommand,
  type ClusterPorts,
  NotFoundError,
  UsageError,
  type Values,
} from '#ctl/command';
import { ACCOUNT, wholeUpTo } from '#ctl/command-line';
import { SILENT_MS_MAX } from '#ctl/deadline';
import { counted, table } from '#ctl/printed-text';
import { AccountsView, AccountView, MonthsView, UsageView } from '#limiter/admin/schema';

const PLANS = ['free', 'indie', 'pro', 'enterprise'];

/** Options for the custom limits of `enterprise`. */
const CUSTOM = {
  'requests-per-minute': {
    ...{ value: 'n', about: 'requests a minute, for enterprise' },
    faultOf: wholeUpTo(CUSTOM_LIMITS_MAX.requestsPerMinute),
  },
  'cycles-per-month': {
    ...{ value: 'n', about: 'cycles a month, for enterprise' },
    faultOf: wholeUpTo(CUSTOM_LIMITS_MAX.cyclesPerMonth),
  },
  instances: {
    ...{ value: 'n', about: 'instances, for enterprise' },
    faultOf: wholeUpTo(CUSTOM_LIMITS_MAX.instances),
  },
} as const;

/** Commands for accounts, their keys and usage. */
export const ACCOUNT_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['accounts', 'create'],
    summary: 'create an account',
    description:
      'Creates an account on a plan (default `free`). `enterprise` needs `--requests-per-minute` and `--cycles-per-month`.',
    args: [{ name: 'name', about: 'name of the account, up to 100 characters' }],
    options: {
      plan: { value: 'plan', about: 'the plan (default free)', choices: PLANS },
      ...CUSTOM,
    },
    async run(admin, [name], values) {
      const body = { name, ...planOf(values.plan ?? 'free', values) };
      return oneAccount(await admin.ask(AccountView, 'POST', '/accounts', body));
    },
  },
  {
    kind: 'account',
    words: ['accounts', 'list'],
    summary: 'list accounts with plan, status and limits',
    description: 'Shows every account with its plan, status and limits.',
    args: [],
    options: {},
    async run(admin) {
      const data = await everyAccount(admin);
      return { data, text: accountTable(data) };
    },
  },
  {
    kind: 'account',
    words: ['accounts', 'plan'],
    summary: 'change the plan of an account',
    description:
      'Changes the plan. All processes apply the change within a second, or within 30 s if the announcement of the change is lost.',
    args: [ACCOUNT, { name: 'plan', about: 'the plan', choices: PLANS }],
    options: CUSTOM,
    async run(admin, [account = '', plan = ''], values) {
      const body = planOf(plan, values);
      return oneAccount(await admin.ask(AccountView, 'PUT', pathOf(account, 'plan'), body));
    },
  },
  {
    kind: 'account',
    words: ['accounts', 'model'],
    summary: 'set the model of an account',
    description:
      'Sets the model of new instances. If the model can continue from the state of an existing ' +
      'instance, this instance changes to this model at its next observation. With `none`, every ' +
      'instance keeps its present model.',
    args: [ACCOUNT, { name: 'version', about: 'version of the model, or `none`' }],
    options: {},
    async run(admin, [account = '', version = '']) {
      const body = { model_version: version === 'none' ? null : version };
      const data = await admin.ask(AccountView, 'PUT', pathOf(account, 'model'), body);
      const { id, name, model_version = 'none' } = data;
      return { data, text: table(['ACCOUNT', 'NAME', 'MODEL'], [[id, name, model_version]]) };
    },
  },
  {
    kind: 'account',
    words: ['accounts', 'retention'],
    summary: 'set how long an account keeps history',
    description:
      'Sets how many days the account keeps history and drift, instead of the retention of its ' +
      'plan. `none` keeps all rows, and `plan` follows the plan again. `ctl retention apply` ' +
      'deletes older rows.',
    args: [
      ACCOUNT,
      { name: 'days|plan|none', about: 'days, `plan` to follow the plan, `none` to keep all' },
    ],
    options: {},
    async run(admin, [account = '', choice = '']) {
      const body = { retention_days: retentionOf(choice) };
      const data = await admin.ask(AccountView, 'PUT', pathOf(account, 'retention'), body);
      const { id, name, plan, retention_days = 'plan' } = data;
      const headings = ['ACCOUNT', 'NAME', 'PLAN', 'RETENTION'];
      return { data, text: table(headings, [[id, name, plan, retention_days]]) };
    },
  },
  oneCall(AccountView, (account) => accountTable([account]), {
    words: ['accounts', 'suspend'],
    summary: 'suspend an account',
    description: 'Suspends an account. The service then refuses its calls with 403.',
    request: { method: 'PUT', part: 'status', body: { status: 'suspended' } },
  }),
  oneCall(AccountView, (account) => accountTable([account]), {
    words: ['accounts', 'resume'],
    summary: 'end a suspension',
    description: 'Ends a suspension.',
    request: { method: 'PUT', part: 'status', body: { status: 'active' } },
  }),
  ...KEY_COMMANDS,
  // Listed before `usage`, which would otherwise take `reset` as its argument.
  oneCall(UsageView, usageText, {
    words: ['usage', 'reset'],
    summary: 'repair usage after a wrong clock',
    description:
      'If a wrong clock began a future month, moves the usage to the present month. Otherwise has no effect.',
    request: { method: 'POST', part: 'usage/reset', body: {} },
  }),
  oneCall(MonthsView, monthsText, {
    words: ['usage', 'months'],
    summary: 'show cycles by month, day and key',
    description:
      'Shows the cycles of the present month and the twelve months before, by day and by key.',
    request: { method: 'GET', part: 'usage/months' },
  }),
  oneCall(UsageView, usageText, {
    words: ['usage'],
    summary: 'show the usage of an account',
    description: 'Shows the used, reserved and remaining requests and cycles of an account.',
    request: { method: 'GET', part: 'usage' },
  }),
];

function planOf(plan: string, values: Values): object {
  const requests = values['requests-per-minute'];
  const cycles = values['cycles-per-month'];
  const { instances } = values;
  if (plan === 'enterprise') {
    if (requests === undefined || cycles === undefined) {
      throw new UsageError('enterprise needs --requests-per-minute and --cycles-per-month');
    }
    const limits = { requests_per_minute: Number(requests), cycles_per_month: Number(cycles) };
    const most = instances === undefined ? {} : { instances: Number(instances) };
    return { plan, limits: { ...limits, ...most } };
  }
  if (requests === undefined && cycles === undefined && instances === undefined) return { plan };
  throw new UsageError(
    'only the enterprise plan takes limits: omit the limits, or choose enterprise',
  );
}

function retentionOf(choice: string): Retention | null {
  if (choice === 'plan') return null;
  if (choice === 'none') return choice;
  const days = /^\d{1,9}$/.test(choice) ? Number(choice) : 0;
  if (days >= 1 && days <= RETENTION_DAYS_MAX) return days;
  const words = `1 to ${RETENTION_DAYS_MAX} days, plan or none`;
  throw new UsageError(`retention must be ${words}, not ${JSON.stringify(choice)}`);
}

async function everyAccount(admin: AdminClient): Promise<z.infer<typeof AccountsView>> {
  const all: z.infer<typeof AccountsView> = [];
  for (;;) {
    const after = all.at(-1)?.id;
    const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
    const page = await admin.ask(AccountsView, 'GET', `/accounts${query}`);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

function oneAccount(account: z.infer<typeof AccountView>) {
  return { data: account, text: accountTable([account]) };
}

function accountTable(accounts: z.infer<typeof AccountsView>): string {
  const headings = ['ACCOUNT', 'NAME', 'PLAN', 'STATUS', 'REQUESTS/MIN', 'CYCLES/MONTH', 'CREATED'];
  // The column for a scheduled plan change is shown only if an account has one.
  const areSteady = accounts.every(({ plan_change }) => plan_change === undefined);
  const rows = accounts.map(({ id, name, plan, status, limits, created_at, plan_change }) => {
    const { requests_per_minute, cycles_per_month } = limits;
    const row = [id, name, plan, status, requests_per_minute, cycles_per_month, created_at];
    const next = plan_change === undefined ? '-' : `${plan_change.plan} at ${plan_change.at}`;
    return areSteady ? row : [...row, next];
  });
  return table(areSteady ? headings : [...headings, 'NEXT PLAN'], rows);
}

/** Legend below the table of `ctl usage`. */
const USAGE_LEGEND =
  'MARK: the limiter grants calls up to this count without another journal append.\n' +
  'EXPIRED: cycles charged because their reservation expired before settlement.\n' +
  'LOST: cycles charged because a crash may have lost their usage records.';

function usageText(usage: z.infer<typeof UsageView>): string {
  const { requests_in_window, requests_per_minute, window_mark, window_resets_at } = usage;
  const requestsLeft = Math.max(0, requests_per_minute - requests_in_window);
  const requests = [requests_in_window, '-', requests_per_minute, requestsLeft];
  const { cycles_used, cycles_reserved, cycles_per_month, cycles_remaining } = usage;
  const cycles = [cycles_used, cycles_reserved, cycles_per_month, cycles_remaining];
  const { month_mark, cycles_expired, cycles_lost, month_ends_at } = usage;
  const rows = [
    ['requests', ...requests, window_mark, '-', '-', window_resets_at ?? '-'],
    ['cycles', ...cycles, month_mark, cycles_expired, cycles_lost, month_ends_at],
  ];
  const counts = ['USED', 'RESERVED', 'LIMIT', 'LEFT', 'MARK', 'EXPIRED', 'LOST'];
  return [table(['', ...counts, 'UNTIL'], rows), USAGE_LEGEND, ...monthTables(usage)].join('\n\n');
}

function monthsText(months: z.infer<typeof MonthsView>): string {
  return months
    .map((month) => [`${month.month}: ${month.cycles} cycles`, ...monthTables(month)].join('\n\n'))
    .join('\n\n');
}

/** Returns the cycle tables by day and by key. Leaves out an empty table. */
function monthTables({
  days,
  keys,
  other_cycles: others,
}: Pick<z.infer<typeof UsageView>, 'days' | 'keys' | 'other_cycles'>): string[] {
  const byDay = days.filter((day) => day.cycles > 0).map((day) => [day.date, day.cycles]);
  const byKey = keys.map(({ id, name = '-', cycles }) => [id, name, cycles]);
  const other = others === 0 ? [] : [['other', '-', others]];
  return [
    ...(byDay.length === 0 ? [] : [table(['DAY (UTC)', 'CYCLES'], byDay)]),
    ...(byKey.length === 0 ? [] : [table(['KEY', 'NAME', 'CYCLES'], [...byKey, ...other])]),
  ];
}

/** Search timeout, in milliseconds. Longer than in the console, because a command can wait. */
const TIMEOUT_MS = 60_000;

/** `ctl usage instances`: shows the instances with the most cycles in the present month. */
export const USAGE_INSTANCES: ClusterCommand = {
  kind: 'cluster',
  words: ['usage', 'instances'],
  summary: 'show the instances with the most cycles',
  description:
    'Shows the 20 instances of an account with the most cycles in the present month. The timestamp of an observation decides its month.',
  args: [ACCOUNT],
  options: {},
  silentMsMax: TIMEOUT_MS + SILENT_MS_MAX,
  async run(ports, [account = '']) {
    await assertAccount(ports, account);
    await using acting = await ports.openActing();
    const { clock } = ports;
    const sinceMs = monthBeginOf(monthEndOf(clock.wallMs()));
    const bounds = { sinceMs, timeoutMs: TIMEOUT_MS };
    const used = await instancesUsed({ engine: acting.engine, clock }, account, bounds);
    const month = monthNameOf(sinceMs);
    const data = {
      ...{ account_id: account, month, instances: used.instances },
      ...{ instances_total: used.instancesTotal, instances_listed: used.instancesListed },
      is_complete: used.isComplete,
    };
    return { data, text: textOf(month, used) };
  },
};

/** Rejects with a `NotFoundError` if there is no such account. */
export async function assertAccount(
  { accounts }: Pick<ClusterPorts, 'accounts'>,
  account: string,
): Promise<void> {
  if (isAccountId(account) && (await accounts.find(account)) !== undefined) return;
  throw new NotFoundError(`there is no account "${account}"`);
}

function textOf(month: string, { instances, ...used }: InstancesUsed): string {
  const { isComplete, instancesListed: listed, instancesTotal: total } = used;
  const rows = instances.map(({ id, name, cycles }) => [id, JSON.stringify(name), cycles]);
  const why =
    listed < total
      ? `only the newest ${listed} of ${counted(total, 'instance')} were read`
      : 'the time limit ended before every instance was read';
  return [
    rows.length === 0
      ? `${month}: no instance has observations`
      : `${month}\n\n${table(['INSTANCE', 'NAME', 'CYCLES'], rows)}`,
    ...(isComplete ? [] : [`The list may be incomplete: ${why}.`]),
  ].join('\n\n');
}
