import type { Account } from '#accounts/account';
import { auditKeptFrom, retentionDaysOf } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { everyAccount } from '#ctl/bounded-work';
import { type ClusterCommand, type ClusterPorts, CtlError, EXIT } from '#ctl/command';
import { eraseMonths, OperatorAudit } from '#ctl/operator';
import { counted, Progress } from '#ctl/printed-text';
import { trimPlan } from '#ctl/verify/trim-plan';
import { toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { bodyText, type EngineClient, unnamedCall } from '#grpc/engine-messages';
import { type Clock, isNear, sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { gatheredHeads } from '#storage/ports/head-codec';
import {
  type Floor,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';

/** Maximum failed instances named in the output. */
const NAMED_MAX = 10;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** `ctl retention apply`: deletes history older than the retention of its account. */
export const APPLY_RETENTION: ClusterCommand = {
  kind: 'cluster',
  words: ['retention', 'apply'],
  summary: 'delete history past its retention',
  description:
    'Deletes history and drift that are older than the retention of the account, or of its plan (`SERVICE_RETENTION_DAYS`). Also deletes expired months of audit trails. Run the command once a day. You can interrupt and repeat the command at any time.',
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
        () => `${counted(total.looked_at, 'instance')} checked, ${total.trimmed} trimmed`,
      );
    // Opened for the first account with a retention: most installations have no such account.
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

/**
 * Checks this machine's clock against the Cassandra servers, because the clock decides which rows
 * are deleted. Rejects with a `CtlError` unless more than half of the servers agree.
 */
async function assertClock({ clock, serverClocks }: ClusterPorts): Promise<void> {
  const shown = await serverClocks.read();
  const own = clock.wallMs();
  if (shown.filter((other) => isNear(own, other)).length * 2 > shown.length) return;
  throw new CtlError(
    `the clock of this machine (${new Date(own).toISOString()}) differs from the clocks of the Cassandra servers: nothing was deleted; correct the clock`,
  );
}

/** Deletes expired months of an account's audit trail. Returns the number of months. */
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

/** Yields active and suspended accounts, with due plan changes applied. */
async function* accountsInUse({ accounts, clock }: ClusterPorts): AsyncGenerator<Account> {
  for await (const account of everyAccount(accounts)) {
    // An account in import is incomplete, and a deletion removes all rows anyway.
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
    `${counted(accounts, 'account')}, ${counted(looked_at, 'instance')} checked; ${counted(observations, 'observation')} and ${counted(drift_events, 'drift event')} deleted from ${counted(trimmed, 'instance')}.`,
  ];
  if (trimmed > 0) lines.push('The rows disappear from the tables within 20 s.');
  if (failed > 0) {
    lines.push(`${counted(failed, 'instance')} could not be trimmed. The next run retries:`);
  }
  return [...lines, ...failures.map((failure) => `  ${failure}`)].join('\n');
}

/** Maximum heads read concurrently. A read returns heads from a single bucket. */
const HEADS_AT_ONCE = 256;

/**
 * Maximum number of instances inspected or trimmed concurrently. Keeps the load far below the
 * callers' load.
 */
const IN_FLIGHT_MAX = 8;

/** Maximum instances inspected per second. Each inspection costs a small read. */
const PER_SECOND_MAX = 1_000;

/** Maximum tries for an instance whose rows do not match its head. */
const TRIES_MAX = 3;

/** Pause between two tries, in milliseconds. A running checkpoint ends within this time. */
const PAUSE_MS = 2_000;

/** Result of one batch of instances. */
type Trimmed = {
  readonly lookedAt: number;
  readonly trimmed: number;
  readonly observations: number;
  readonly driftEvents: number;
  /** Reasons of failed trims, each with the instance id. */
  readonly failures: readonly string[];
};

/** Result for one instance. Undefined if there was nothing to trim. */
type Outcome = { readonly before: InstanceHead; readonly floor: Floor } | undefined;

/** Asks engines to trim the instances of accounts, at a bounded rate. */
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

  /**
   * Trims rows of an account older than `cutoffMs` (Unix milliseconds). Yields after each batch of
   * instances.
   */
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

  /**
   * Plans a trim from the stored rows and asks the engine to apply the trim. Rows that are not
   * stored yet are only minutes old, so the plan needs no such rows.
   */
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
        const times = { cutoffMs, nowMs: this.#clock.wallMs() };
        const floor = await trimPlan(this.#store, instanceId, before, times);
        if (floor === undefined) return undefined;
        return (await this.#ask(accountId, instanceId, floor)) ? { before, floor } : undefined;
      } catch (error) {
        // Rows may be missing because of a trim or deletion whose head is not stored yet.
        if (!(error instanceof CtlError) || tries === TRIES_MAX) throw error;
      }
      await sleep(this.#clock, PAUSE_MS);
      before = await this.#store.readHead(instanceId);
    }
  }

  /**
   * Whether the engine trimmed the instance. False if the instance was deleted, or if an earlier
   * trim is not stored yet.
   */
  async #ask(accountId: string, instanceId: string, floor: Floor): Promise<boolean> {
    const deadlineAtMs = this.#clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const command = { kind: 'trim', ...floor } as const;
    try {
      const call = unnamedCall({ accountId, instanceId, deadlineAtMs, command });
      const { data } = JSON.parse(bodyText(await this.#engine.ask(call)));
      return data.is_new === true;
    } catch (error) {
      if (toFault(error).code === 'not_found') return false;
      throw error;
    }
  }

  /** Waits until the rate limit admits one more instance. */
  async #paced(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#nextMs = Math.max(nowMs, this.#nextMs + 1_000 / PER_SECOND_MAX);
    // Timers have a resolution of 1 ms.
    if (this.#nextMs - nowMs >= 1) await sleep(this.#clock, this.#nextMs - nowMs);
  }
}
