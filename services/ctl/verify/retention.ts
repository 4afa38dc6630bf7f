import type { Account } from '#accounts/account';
import { auditKeptFrom, retentionDaysOf } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { type ClusterCommand, type ClusterPorts, CtlError, EXIT } from '#ctl/command';
import { eraseMonths, OperatorAudit } from '#ctl/operator';
import { counted, Progress } from '#ctl/text';
import { trimPlan } from '#ctl/verify/trim-plan';
import { everyAccount } from '#ctl/work';
import { toFault } from '#fault/fault';
import { type Clock, isNear, sleep } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import { gatheredHeads } from '#storage/ports/heads';
import {
  type Floor,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';
import { CALL_TIMEOUT_MS_MAX } from '#wire/bounds';
import { type EngineClient, unnamedCall } from '#wire/engine-messages';

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

/** Instances whose heads are read at once: those of one bucket in one read. Chosen. */
const HEADS_AT_ONCE = 256;

/** Instances that are looked at or trimmed at once. Chosen: a fraction of what callers ask. */
const IN_FLIGHT_MAX = 8;

/** Instances that are looked at in a second, of which each costs a small read. Chosen. */
const PER_SECOND_MAX = 1_000;

/** How often an instance is tried whose rows and head do not go together just now. */
const TRIES_MAX = 3;

/** Between two tries, in milliseconds: a checkpoint is at its end by then. */
const PAUSE_MS = 2_000;

/** What has been done in one step. */
type Trimmed = {
  readonly lookedAt: number;
  readonly trimmed: number;
  readonly observations: number;
  readonly driftEvents: number;
  /** Why instances could not be trimmed, each by its id. */
  readonly failures: readonly string[];
};

/** What has become of one instance; undefined: it has nothing to trim. */
type Outcome = { readonly before: InstanceHead; readonly floor: Floor } | undefined;

/** Has engines trim the instances of accounts, at a bounded rate. */
class InstanceTrims {
  readonly #clock: Clock;
  readonly #store: InstanceStore;
  readonly #listings: ClusterPorts['listings'];
  readonly #engine: EngineClient;
  #nextMs = 0;

  constructor(
    { clock, instances, listings }: Pick<ClusterPorts, 'clock' | 'instances' | 'listings'>,
    engine: EngineClient,
  ) {
    this.#clock = clock;
    this.#store = gatheredHeads(instances);
    this.#listings = listings;
    this.#engine = engine;
  }

  /** Trims what is older than `cutoffMs` (Unix milliseconds) of an account, some instances a step. */
  async *ofAccount(accountId: string, cutoffMs: number): AsyncGenerator<Trimmed> {
    for await (const page of this.#listings.pages(accountId)) {
      for (let start = 0; start < page.length; start += HEADS_AT_ONCE) {
        const some = page.slice(start, start + HEADS_AT_ONCE);
        const ids = some.map(({ instanceId }) => instanceId);
        yield await this.#ofAll(accountId, ids, cutoffMs);
      }
    }
  }

  async #ofAll(accountId: string, ids: readonly string[], cutoffMs: number): Promise<Trimmed> {
    const heads = await Promise.allSettled(ids.map((id) => this.#store.readHead(id)));
    const failures: string[] = [];
    const done: NonNullable<Outcome>[] = [];
    await forEachConcurrently([...ids.entries()], IN_FLIGHT_MAX, async ([index, id]) => {
      await this.#paced();
      try {
        const head = heads[index];
        if (head?.status === 'rejected') throw head.reason;
        const outcome = await this.#ofOne(accountId, id, head?.value, cutoffMs);
        if (outcome !== undefined) done.push(outcome);
      } catch (error) {
        failures.push(`${id}: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    const sum = (of: (outcome: NonNullable<Outcome>) => number) =>
      done.reduce((total, outcome) => total + of(outcome), 0);
    return {
      lookedAt: ids.length,
      trimmed: done.length,
      observations: sum(({ before, floor }) => floor.history - trimmedOf(before).history),
      driftEvents: sum(({ before, floor }) => floor.drift - trimmedOf(before).drift),
      failures,
    };
  }

  /** Only what is stored is trimmed: what is not is minutes old. */
  async #ofOne(
    accountId: string,
    instanceId: string,
    first: InstanceHead | undefined,
    cutoffMs: number,
  ): Promise<Outcome> {
    let before = first;
    for (let tries = 1; ; tries += 1) {
      if (before === undefined || before.deletedAtMs !== undefined) return undefined;
      try {
        const floor = await trimPlan(this.#store, instanceId, before, cutoffMs);
        if (floor === undefined) return undefined;
        return (await this.#ask(accountId, instanceId, floor)) ? { before, floor } : undefined;
      } catch (error) {
        // Rows that are missing may be those of a trim or a deletion whose head is not stored yet.
        if (!(error instanceof CtlError) || tries === TRIES_MAX) throw error;
      }
      await sleep(this.#clock, PAUSE_MS);
      before = await this.#store.readHead(instanceId);
    }
  }

  /** Whether the instance was trimmed: it may be gone, or trimmed before and not stored yet. */
  async #ask(accountId: string, instanceId: string, floor: Floor): Promise<boolean> {
    const deadlineAtMs = this.#clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const command = { kind: 'trim', ...floor } as const;
    try {
      const call = unnamedCall({ accountId, instanceId, deadlineAtMs, command });
      const { body } = await this.#engine.ask(call);
      const { data } = JSON.parse(Buffer.from(body).toString());
      return data.is_new === true;
    } catch (error) {
      if (toFault(error).code === 'not_found') return false;
      throw error;
    }
  }

  /** Waits until one more instance may be looked at. */
  async #paced(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#nextMs = Math.max(nowMs, this.#nextMs + 1_000 / PER_SECOND_MAX);
    // Timers are no finer than this.
    if (this.#nextMs - nowMs >= 1) await sleep(this.#clock, this.#nextMs - nowMs);
  }
}
