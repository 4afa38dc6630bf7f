/* Loads and removes the demonstration fleet of an account. */
import { accountAt } from '#accounts/plan-change';
import type { DemoFleet } from '#console/answers';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import { DEMO_AGENTS } from '#console/demo/content';
import { DemoEngine, type Grant } from '#console/demo/engine';
import { DEMO_TAG, isDemo } from '#console/demo/marks';
import { isPlaceOf } from '#console/demo/places';
import { cyclesOf, weekOf } from '#console/demo/weeks';
import { Admission, type AdmissionCall, type Admitted, LimitedKeys } from '#edge/callers/admission';
import type { Caller } from '#edge/http';
import { CallIds } from '#edge/serve/engine-calls';
import { EngineReads, PAGE_ROWS_MAX } from '#edge/serve/engine-reads';
import { admissionMetrics } from '#edge/serve/reply';
import { Fault, faultFor } from '#errors/fault';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';

/** Time limit of one load or removal, in milliseconds. Shorter than the timeout of the pages. */
const WORK_MS_MAX = 12_000;

/** Maximum agents of a load or removal in progress, comparable to the load of a few callers. */
const AGENTS_AT_ONCE = 8;

/** Maximum loads and removals that a console performs at the same time. */
const ACCOUNTS_AT_ONCE = 4;

/** Maximum instances that one removal deletes. A page repeats the request for further instances. */
const REMOVED_MAX = 500;

/** Ports of the demonstration. */
export type DemoPorts = Pick<ConsolePorts, 'engine' | 'limiter' | 'accounts' | 'clock' | 'metrics'>;

/** A member who loads or removes a demonstration, with the address of the request. */
export type DemoCaller = { readonly caller: Caller; readonly address: string };

/** An instance of the demonstration, as listed. */
type Marked = { readonly id: string; readonly createdAtMs: number };

/**
 * Demonstration fleets of all accounts. A load counts as one request of the account, and each
 * observation as one cycle, as for every other call. A load therefore never exceeds the plan.
 *
 * A load continues where an interrupted load ended: ids, times and observations are derived from
 * the account and the agent, and instances that exist are not created again.
 */
export class DemoFleets {
  readonly #ports: DemoPorts;
  readonly #admission: Admission;
  readonly #callIds: CallIds;
  readonly #engine: DemoEngine;
  readonly #busy = new Set<string>();

  constructor(ports: DemoPorts, { clusterSecrets }: Pick<ConsoleConfig, 'clusterSecrets'>) {
    const { limiter, clock, metrics } = ports;
    this.#ports = ports;
    // Without news of accounts, the admission caches no refusals.
    const limited = new LimitedKeys(clock, undefined);
    this.#admission = new Admission(limiter, clock, admissionMetrics(metrics), limited);
    this.#callIds = new CallIds(clusterSecrets);
    this.#engine = new DemoEngine(ports, this.#callIds);
  }

  /** The present state. Rejects with `index_rebuilding` while the engine builds the index. */
  async standing(accountId: string): Promise<DemoFleet> {
    const { total } = await this.#reads(accountId).listTagged(0, DEMO_TAG);
    return viewOf(total);
  }

  /**
   * Creates the missing agents and sends their weeks. `around` writes the audit lines. Rejects with
   * `quota_exceeded`, `rate_limited` or `instance_limit` before any change, and with `conflict` if
   * a load or removal of the account is in progress.
   */
  async load(
    asked: DemoCaller,
    around: (act: () => Promise<number>) => Promise<number>,
  ): Promise<DemoFleet> {
    const { accountId } = asked.caller;
    using _ = this.#begin(accountId);
    const reads = this.#reads(accountId);
    const plan = await this.#planOf(accountId, reads);
    if (plan.cycles === 0 && plan.missing === 0) return viewOf(plan.present);
    await this.#assertRoom(accountId, plan.missing, reads);
    const call = this.#callOf(asked, plan.cycles);
    const admitted = await this.#admit(call);
    const grant: Grant = {
      ...{ accountId, reads, left: plan.cycles, used: 0, unknown: 0 },
      instancesMax: admitted.allowance?.instances ?? 0,
      modelVersion: admitted.allowance?.modelVersion,
    };
    try {
      const loaded = await around(async () => {
        await untilFailure(DEMO_AGENTS, (agent) =>
          this.#engine.bringUp(agent, plan.places.get(agent.slug), grant),
        );
        return DEMO_AGENTS.length;
      });
      return viewOf(Math.max(loaded, plan.present));
    } finally {
      await this.#settle(call, admitted, grant);
    }
  }

  /** Deletes every instance with the mark, and no other instance. */
  async remove(
    asked: DemoCaller,
    around: (act: () => Promise<number>) => Promise<number>,
  ): Promise<DemoFleet> {
    const { accountId } = asked.caller;
    using _ = this.#begin(accountId);
    const reads = this.#reads(accountId);
    const { rows, total } = await marked(reads, REMOVED_MAX);
    if (total === 0) return viewOf(0);
    await this.#admit(this.#callOf(asked, 0));
    const removed = await around(async () => {
      await untilFailure(rows, ({ id }) => this.#engine.removeMarked(accountId, id, reads));
      return rows.length;
    });
    return viewOf(total - removed);
  }

  #reads(accountId: string): EngineReads {
    return new EngineReads(this.#ports, accountId, WORK_MS_MAX);
  }

  /** Instances of earlier loads by agent, and the cycles that are still to be applied. */
  async #planOf(accountId: string, reads: EngineReads) {
    const { rows, total } = await marked(reads, REMOVED_MAX);
    const places = new Map<string, Marked>();
    for (const agent of rows.length === 0 ? [] : DEMO_AGENTS) {
      const place = rows.find((row) => isPlaceOf(accountId, agent.slug, row));
      if (place !== undefined) places.set(agent.slug, place);
    }
    let cycles = 0;
    await forEachConcurrently(DEMO_AGENTS, AGENTS_AT_ONCE, async (agent) => {
      const place = places.get(agent.slug);
      const applied = place === undefined ? 0 : await reads.observationCount(place.id);
      cycles += Math.max(0, weekOf(agent, 0).observations.length - applied);
    });
    return { places, cycles, present: total, missing: DEMO_AGENTS.length - places.size };
  }

  /** Throws `instance_limit` if the missing agents do not fit, so that no part is created. */
  async #assertRoom(accountId: string, missing: number, reads: EngineReads): Promise<void> {
    const { accounts, clock } = this.#ports;
    const found = await accounts.find(accountId);
    if (found === undefined) throw new Fault('not_found', 'the account does not exist');
    const { instances } = accountAt(found.account, clock.wallMs()).limits;
    const { total } = await reads.list(0);
    if (total + missing <= instances) return;
    const text = `the demonstration needs ${missing} more instances; the account's plan allows ${instances}`;
    throw faultFor('instance_limit', text);
  }

  #callOf({ caller, address }: DemoCaller, cycles: number): AdmissionCall {
    const name = { callId: this.#callIds.next(), callTag: 0, isKeyed: false };
    return { caller, address, ...name, scope: 'full', cycles };
  }

  async #admit(call: AdmissionCall): Promise<Admitted> {
    const admitted = await this.#admission.admit(call);
    if (admitted.refusal !== undefined) throw admitted.refusal;
    return admitted;
  }

  async #settle(call: AdmissionCall, admitted: Admitted, grant: Grant): Promise<void> {
    if (call.cycles === 0) return;
    await this.#admission.settle(call, grant.used, admitted, grant.unknown);
  }

  /** Takes the account until disposal. Throws `conflict` or `overloaded`. */
  #begin(accountId: string): Disposable {
    if (this.#busy.has(accountId)) {
      throw new Fault('conflict', 'the demonstration is being loaded or removed; wait a moment');
    }
    if (this.#busy.size >= ACCOUNTS_AT_ONCE) {
      throw faultFor('overloaded', 'too many demonstrations in progress', { retryAfterS: 2 });
    }
    this.#busy.add(accountId);
    return { [Symbol.dispose]: () => void this.#busy.delete(accountId) };
  }
}

/**
 * Runs `task` for every item, some at a time. After a failure, starts no further task, waits for the
 * tasks in progress, and then rejects: no task uses cycles after the settlement.
 */
async function untilFailure<Item>(
  items: readonly Item[],
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await forEachConcurrently(items, AGENTS_AT_ONCE, async (item) => {
    if (failures.length > 0) return;
    await task(item).catch((error: unknown) => void failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}

/** Instances with the mark, at most `max`, and their total number. */
async function marked(reads: EngineReads, max: number) {
  const first = await reads.listTagged(0, DEMO_TAG);
  const rows = [...first.rows];
  for (let offset = PAGE_ROWS_MAX; offset < Math.min(first.total, max); ) {
    rows.push(...(await reads.listTagged(offset, DEMO_TAG)).rows);
    offset += PAGE_ROWS_MAX;
  }
  return { rows: rows.filter(({ tags }) => isDemo(tags)), total: first.total };
}

function viewOf(instances: number): DemoFleet {
  const [key, value] = DEMO_TAG;
  return {
    ...{ instances, agents: DEMO_AGENTS.length, cycles: CYCLES },
    tag: { key, value },
  };
}

const CYCLES = cyclesOf(DEMO_AGENTS);
