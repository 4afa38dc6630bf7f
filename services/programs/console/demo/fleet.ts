/* Loads and removes the demonstration fleet of an account. */
import { accountAt } from '#accounts/plan-change';
import type { DemoFleet } from '#console/answers';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import { DEMO_AGENTS } from '#console/demo/content';
import { DemoEngine, type Grant } from '#console/demo/engine';
import { DEMO_TAG, isDemo } from '#console/demo/marks';
import { agentsById } from '#console/demo/places';
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

/** Maximum instances with the mark that are read: many forks of a demonstration. */
const MARKED_MAX = 1_000;

/** Ports of the demonstration. */
export type DemoPorts = Pick<ConsolePorts, 'engine' | 'limiter' | 'accounts' | 'clock' | 'metrics'>;

/** A member who loads or removes a demonstration, with the address of the request. */
export type DemoCaller = { readonly caller: Caller; readonly address: string };

/** An instance of the demonstration, as listed. */
type Marked = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly createdAtMs: number;
};

/** Changed instances, for the audit trail. */
type Changed = { readonly instances: number; readonly names: readonly string[] };

/** Writes the audit lines around a load or removal. */
type Around = (act: () => Promise<Changed>) => Promise<Changed>;

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
    return viewOf((await marked(accountId, this.#reads(accountId))).length);
  }

  /**
   * Creates the missing agents and sends their weeks. `around` writes the audit lines. Rejects with
   * `quota_exceeded`, `rate_limited` or `instance_limit` before any change, and with `conflict` if
   * a load or removal of the account is in progress.
   */
  async load(asked: DemoCaller, around: Around): Promise<DemoFleet> {
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
        return changed(DEMO_AGENTS);
      });
      return viewOf(loaded.instances);
    } finally {
      await this.#settle(call, admitted, grant);
    }
  }

  /** Deletes the agents that still have the mark, and no other instance, such as a fork. */
  async remove(asked: DemoCaller, around: Around): Promise<DemoFleet> {
    const { accountId } = asked.caller;
    using _ = this.#begin(accountId);
    const reads = this.#reads(accountId);
    const rows = await marked(accountId, reads);
    if (rows.length === 0) return viewOf(0);
    await this.#admit(this.#callOf(asked, 0));
    await around(async () => {
      await untilFailure(rows, ({ id }) => this.#engine.removeMarked(accountId, id, reads));
      return changed(rows);
    });
    return viewOf(0);
  }

  #reads(accountId: string): EngineReads {
    return new EngineReads(this.#ports, accountId, WORK_MS_MAX);
  }

  /** Instances of earlier loads by agent, and the cycles that are still to be applied. */
  async #planOf(accountId: string, reads: EngineReads) {
    const rows = await marked(accountId, reads);
    const places = new Map(rows.map((row) => [row.slug, row]));
    let cycles = 0;
    await forEachConcurrently(DEMO_AGENTS, AGENTS_AT_ONCE, async (agent) => {
      const place = places.get(agent.slug);
      const applied = place === undefined ? 0 : await reads.observationCount(place.id);
      cycles += Math.max(0, weekOf(agent, 0).observations.length - applied);
    });
    return { places, cycles, present: rows.length, missing: DEMO_AGENTS.length - places.size };
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

/** Agents of the demonstration that still have the mark, among the first instances with the mark. */
async function marked(accountId: string, reads: EngineReads): Promise<readonly Marked[]> {
  const first = await reads.listTagged(0, DEMO_TAG);
  const rows = [...first.rows];
  for (let offset = PAGE_ROWS_MAX; offset < Math.min(first.total, MARKED_MAX); ) {
    rows.push(...(await reads.listTagged(offset, DEMO_TAG)).rows);
    offset += PAGE_ROWS_MAX;
  }
  const slugs = DEMO_AGENTS.map(({ slug }) => slug);
  const times = rows.map(({ createdAtMs }) => createdAtMs);
  const agents = agentsById(accountId, slugs, times);
  return rows.flatMap(({ id, name, tags, createdAtMs }) => {
    const slug = agents.get(id);
    return slug === undefined || !isDemo(tags) ? [] : [{ id, name, slug, createdAtMs }];
  });
}

function changed(agents: readonly { readonly name: string }[]): Changed {
  return { instances: agents.length, names: agents.map(({ name }) => name) };
}

function viewOf(instances: number): DemoFleet {
  const [key, value] = DEMO_TAG;
  return {
    ...{ instances, agents: DEMO_AGENTS.length, cycles: CYCLES },
    tag: { key, value },
  };
}

const CYCLES = cyclesOf(DEMO_AGENTS);
