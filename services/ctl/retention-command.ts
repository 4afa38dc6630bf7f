import type { Account } from '#accounts/account';
import { accountAt } from '#accounts/plan-change';
import { auditKeptFrom, retentionDaysOf } from '#accounts/retention';
import { type ClusterCommand, type ClusterPorts, CtlError, EXIT } from '#ctl/command';
import { counted } from '#ctl/counted';
import { everyAccount } from '#ctl/every-account';
import { InstanceTrims } from '#ctl/instance-trims';
import { eraseMonths, OperatorAudit } from '#ctl/operator-audit';
import { Progress } from '#ctl/progress';
import { isNear } from '#platform/clock-agreement';

/** Instances that could not be trimmed and are named at the end. */
const NAMED_MAX = 10;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** `ctl retention apply`: what is older than its account keeps it goes. */
export const APPLY_RETENTION: ClusterCommand = {
  kind: 'cluster',
  words: ['retention', 'apply'],
  summary: 'delete history that is older than it is kept',
  description:
    'Deletes history and drift that is older than its account, or the plan by `SERVICE_RETENTION_DAYS`, keeps it, and months of audit trails that plans keep no longer. To be run once a day; may be stopped and run again at any time.',
  args: [],
  options: {},
  async run(ports, _args, _values, { report }) {
    await assertClock(ports);
    const total = {
      ...{ accounts: 0, looked_at: 0, trimmed: 0 },
      ...{ observations: 0, drift_events: 0, failed: 0, audit_months: 0 },
    };
    const failures: string[] = [];
    const progress = new Progress(ports.clock, report);
    const progressed = () =>
      progress.at(
        () => `${counted(total.looked_at, 'instance')} looked at, ${total.trimmed} trimmed`,
      );
    // Opened for the first account that has a retention: most installations have none.
    await using opened = new AsyncDisposableStack();
    let trims: InstanceTrims | undefined;
    const audit = new OperatorAudit(ports);
    for await (const account of accountsInUse(ports)) {
      const { id } = account;
      total.audit_months += await eraseOverMonths(ports, audit, account);
      const days = retentionDaysOf(account, ports.retentionOfPlans);
      if (days === undefined) continue;
      trims ??= new InstanceTrims(ports, opened.use(await ports.openActing()).engine);
      total.accounts += 1;
      const cutoffMs = ports.clock.wallMs() - days * DAY_MS;
      const before = new Date(cutoffMs).toISOString();
      const what = { action: 'history.trim', target: id, after: { before } };
      const trimmed = trims.ofAccount(id, cutoffMs);
      await audit.around(id, what, async () => {
        for await (const one of trimmed) {
          total.looked_at += one.lookedAt;
          total.trimmed += one.trimmed;
          total.observations += one.observations;
          total.drift_events += one.driftEvents;
          total.failed += one.failures.length;
          failures.push(...one.failures.slice(0, NAMED_MAX - failures.length));
          progressed();
        }
      });
    }
    const data = { ...total, failures };
    return { data, text: textOf(data), exitCode: total.failed > 0 ? EXIT.failure : EXIT.done };
  },
};

/** What is deleted is deleted by this machine's clock, so it has to be right. */
async function assertClock({ clock, serverClocks }: ClusterPorts): Promise<void> {
  const shown = await serverClocks.read();
  const own = clock.wallMs();
  if (shown.filter((other) => isNear(own, other)).length * 2 > shown.length) return;
  throw new CtlError(
    `the clock of this machine shows ${new Date(own).toISOString()}, and those of Cassandra's servers another time: nothing has been deleted`,
  );
}

/** Removes the months of an account's audit trail whose time is over; answers how many. */
async function eraseOverMonths(
  { audit: store, clock }: ClusterPorts,
  audit: OperatorAudit,
  { id, plan }: Account,
): Promise<number> {
  const keptFrom = auditKeptFrom(plan, clock.wallMs());
  const [oldest] = keptFrom === undefined ? [] : await store.months(id);
  if (keptFrom === undefined || oldest === undefined || oldest >= keptFrom) return 0;
  const what = { action: 'audit.erase', target: id, after: { before: keptFrom } };
  return await audit.around(id, what, () => eraseMonths(store, id, keptFrom));
}

/** The accounts that are in use, as they are now. */
async function* accountsInUse({ accounts, clock }: ClusterPorts): AsyncGenerator<Account> {
  for await (const account of everyAccount(accounts)) {
    // One that is imported is not there yet; of one that is deleted everything goes.
    const isThere = account.status === 'active' || account.status === 'suspended';
    if (isThere) yield accountAt(account, clock.wallMs());
  }
}

type Totals = {
  readonly accounts: number;
  readonly looked_at: number;
  readonly trimmed: number;
  readonly observations: number;
  readonly drift_events: number;
  readonly failed: number;
  readonly audit_months: number;
  readonly failures: readonly string[];
};

function textOf(total: Totals): string {
  const erased = total.audit_months;
  const trails = erased === 0 ? [] : [`${counted(erased, 'month')} of audit trails erased.`];
  if (total.accounts === 0) {
    return [...trails, 'Every account keeps its history for ever: nothing to do.'].join('\n');
  }
  const { accounts, looked_at, trimmed, observations, drift_events, failed, failures } = total;
  const lines = [
    ...trails,
    `${counted(accounts, 'account')}, ${counted(looked_at, 'instance')}: ${trimmed} trimmed, by ${counted(observations, 'observation')} and ${counted(drift_events, 'drift event')}.`,
  ];
  if (trimmed > 0) lines.push('They are gone from the tables within 20 s.');
  if (failed > 0) lines.push(`${failed} could not be trimmed; the next run tries them again:`);
  return [...lines, ...failures.map((failure) => `  ${failure}`)].join('\n');
}
