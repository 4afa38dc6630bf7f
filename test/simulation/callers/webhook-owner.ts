import { Fault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  bodyText,
  type EngineCommand,
  unnamedCall,
  type WebhookAction,
  type WebhookSettings,
} from '#grpc/engine-messages';
import { TRANSITIONS } from '#identity/transitions';
import { accountIdOf } from '#test/simulation/callers/accounts';
import { patiently } from '#test/simulation/callers/timeouts';
import {
  type FailedChange,
  type LoggedEvent,
  missingEvents,
  numbered,
  positionIn,
} from '#test/simulation/checks/lost-events';
import { ALL_TYPES, type WebhookPlan } from '#test/simulation/scenario';
import type { SeededRandom } from '#test/simulation/seeded-random';
import type { SimulatedCluster } from '#test/simulation/simulated/cluster';
import type { SimulatedCouriers } from '#test/simulation/simulated/couriers';
import type { SimulatedEdge } from '#test/simulation/simulated/edge';
import { SimulatedCallIds } from '#test/simulation/simulated/http';
import { Violation } from '#test/simulation/stored/version-index';

/** Time from the end of the load until every command is answered, in milliseconds. */
const ANSWERED_MS_MAX = 60_000;

/**
 * Time until every event is delivered after the faults, in milliseconds. A message that has failed
 * twice waits for 33 s.
 */
const DELIVERED_MS_MAX = 90_000;

/**
 * Time until an event is delivered to an endpoint without a backlog, in milliseconds. The endpoint
 * may be slow (4 s), no courier may have answered just before (5 s), and a take-over may begin.
 */
const PROMPT_MS_MAX = 15_000;

/** Events in a page of the log. */
const PAGE = 1_000;

/** A customer with a webhook endpoint, who compares the deliveries with the log of the account. */
export class WebhookOwner {
  readonly #cluster: SimulatedCluster;
  readonly #couriers: SimulatedCouriers;
  readonly #plan: WebhookPlan;
  readonly #random: SeededRandom;
  readonly #callIds: SimulatedCallIds;
  readonly #id: string;
  /** End of the log after the creation. */
  #cursor = '';
  /** Missing events that a full list of failures may have dropped. */
  excused = 0;

  constructor(cluster: SimulatedCluster, couriers: SimulatedCouriers, plan: WebhookPlan) {
    this.#cluster = cluster;
    this.#couriers = couriers;
    this.#plan = plan;
    this.#random = cluster.world.random.fork();
    this.#callIds = new SimulatedCallIds(this.#random);
    this.#id = `whk_${this.#random.uint32().toString(16).padStart(16, '0')}`;
  }

  /** Creates the endpoint, and pauses and resumes it as planned. */
  async live(): Promise<void> {
    const { world } = this.#cluster;
    const { types, rowsMax, isHanging, pause, createdAtMs } = this.#plan;
    const { watch, hanging } = this.#couriers;
    await world.sleep(createdAtMs);
    watch.add(this.#id, this.accountId);
    if (isHanging) hanging.add(this.#id);
    const url = 'https://customer.example/hook';
    const settings = { url, description: '', types, rowsMax, sealedSecret: 'sealed' };
    await this.#command('create', settings);
    this.#cursor = (await this.#page('', 'newest')).next;
    if (pause === undefined) return;
    await world.sleep(pause.afterMs);
    await this.#command('change', { isPaused: true });
    watch.setPaused(this.#id, true);
    await world.sleep(pause.forMs);
    await this.#resume();
  }

  /**
   * Waits until every wanted event in the log is delivered or listed as failed (I5). Throws a
   * `Violation` if this takes too long, or if a delivery differs from the log.
   */
  async awaitDeliveries(): Promise<void> {
    const { world } = this.#cluster;
    // An earlier pause of unknown outcome may have been applied late.
    await this.#resume();
    if (this.#plan.isHanging) return;
    const events = await this.#events(this.#cursor);
    const startedMs = world.nowMs;
    for (;;) {
      const [lost] = await this.#lost(events);
      if (lost === undefined) break;
      if (world.nowMs - startedMs > DELIVERED_MS_MAX) {
        const { id, position } = lost;
        throw new Violation(
          `${this.#id}: ${id} at position ${position} was neither delivered nor given up`,
        );
      }
      await world.sleep(500);
    }
    this.#checkContent(await this.#events(''));
  }

  /**
   * Throws a `Violation` if an endpoint without a backlog gets a new event late (I7).
   * `create`: creates an instance; resolves to its id, or to undefined without an answer.
   */
  async awaitPrompt(create: () => Promise<string | undefined>): Promise<void> {
    const { world } = this.#cluster;
    if (this.#plan.isHanging) return;
    await this.#caughtUp();
    const instance = await this.#created(create);
    const startedMs = world.nowMs;
    while (!this.#hasEventOf(instance)) {
      if (world.nowMs - startedMs > PROMPT_MS_MAX) {
        throw new Violation(`${this.#id}: no event of ${instance} within ${PROMPT_MS_MAX} ms`);
      }
      await world.sleep(100);
    }
  }

  get accountId(): string {
    return accountIdOf(this.#plan.account);
  }

  /** Waits until no change waits for the endpoint. */
  async #caughtUp(): Promise<void> {
    const { world } = this.#cluster;
    const startedMs = world.nowMs;
    for (;;) {
      const { changes_behind } = (await this.#command('read', {})) as {
        readonly changes_behind: number;
      };
      if (changes_behind === 0) return;
      if (world.nowMs - startedMs > DELIVERED_MS_MAX) {
        throw new Violation(`${this.#id}: ${changes_behind} changes still wait`);
      }
      await world.sleep(500);
    }
  }

  /** Id of a new instance. After the faults, a create may only be refused for a short time. */
  async #created(create: () => Promise<string | undefined>): Promise<string> {
    const { world } = this.#cluster;
    const startedMs = world.nowMs;
    for (;;) {
      const instance = await create();
      if (instance !== undefined) return instance;
      if (world.nowMs - startedMs > ANSWERED_MS_MAX) {
        throw new Violation(`${this.#id}: no instance can be created after the faults`);
      }
      await world.sleep(500);
    }
  }

  #hasEventOf(instance: string): boolean {
    const delivered = this.#couriers.watch.deliveredTo(this.#id);
    return [...delivered.keys()].some((id) => id.startsWith(`${instance}-`));
  }

  async #resume(): Promise<void> {
    this.#couriers.watch.setPaused(this.#id, false);
    await this.#command('change', { isPaused: false });
  }

  /** Events that are neither delivered nor listed as failed. */
  async #lost(events: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const delivered = this.#couriers.watch.deliveredTo(this.#id);
    this.excused = 0;
    if (events.every(({ id }) => delivered.has(id))) return [];
    const { failed } = (await this.#command('readDeliveries', {})) as {
      readonly failed: readonly FailedChange[];
    };
    const missing = missingEvents(events, delivered, failed);
    this.excused = missing.excused;
    return missing.lost;
  }

  /** Compares the deliveries with the whole log. */
  #checkContent(log: readonly LoggedEvent[]): void {
    const { watch } = this.#couriers;
    const logged = new Map<string, { readonly json: string; count: number }>();
    for (const { id, json } of log) {
      const known = logged.get(id);
      if (known === undefined) logged.set(id, { json, count: 1 });
      else known.count += 1;
    }
    for (const [id, later] of watch.lateIn(this.#id)) {
      if ((logged.get(id)?.count ?? 0) > 1) continue;
      throw new Violation(`${this.#id}: the first delivery of ${id} followed ${later}`);
    }
    for (const [id, json] of watch.deliveredTo(this.#id)) {
      const { json: text, count = 0 } = logged.get(id) ?? {};
      if (text !== json) throw new Violation(`${this.#id}: got ${json}, but the log has ${text}`);
      // A row is alone in its message, so that the message has one id.
      const messages = [...watch.messagesWith(this.#id, id)];
      if (this.#plan.rowsMax > 1 || messages.length <= count) continue;
      throw new Violation(`${this.#id}: ${id} arrived with the message ids ${messages.join()}`);
    }
  }

  /** Wanted events of the log after a cursor; of the whole log if the cursor is empty. */
  async #events(cursor: string): Promise<LoggedEvent[]> {
    const { types } = this.#plan;
    const events: Record<string, unknown>[] = [];
    for (let after = cursor; ; ) {
      const page = await this.#page(after, 'oldest');
      events.push(...page.events);
      after = page.next;
      if (page.hasMore) continue;
      const from = cursor === '' ? 0 : positionIn(cursor);
      const logged = numbered(events, from, positionIn(after));
      return logged.filter(({ type }) => isWanted(type, types));
    }
  }

  /** Events of all types. `from`: without a cursor, the end of the log to begin at. */
  async #page(cursor: string, from: 'oldest' | 'newest') {
    const { data, pagination } = await this.#asked({
      ...{ kind: 'readFeed', cursor: cursor === '' ? undefined : cursor, from },
      ...{ limit: PAGE, types: ALL_TYPES, isStream: false, waitMs: 0, isNewestFirst: false },
    });
    const events = data as Record<string, unknown>[];
    return { events, next: String(pagination.next_cursor), hasMore: pagination.has_more === true };
  }

  async #command(action: WebhookAction, settings: WebhookSettings): Promise<unknown> {
    const endpointId = this.#id;
    const command = { kind: 'webhook', action, endpointId, settings, positions: [] } as const;
    return (await this.#asked(command)).data;
  }

  /** Body of the answer to a command, which is repeated until it is answered. */
  async #asked(command: EngineCommand) {
    const { world, scenario } = this.#cluster;
    const endMs = Math.max(scenario.loadMs, world.nowMs) + ANSWERED_MS_MAX;
    for (;;) {
      const { edges } = this.#cluster;
      try {
        if (edges.length > 0) return await this.#askedOnce(this.#random.pick(edges), command);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        // An acknowledged endpoint exists, so every other refusal means that it was lost.
        const isLost = error.code !== 'service_unavailable';
        if (isLost || world.nowMs > endMs) {
          throw new Violation(`${this.#id}: no answer to ${command.kind}: ${error.message}`);
        }
      }
      await world.sleep(this.#random.between(100, 1_000));
    }
  }

  async #askedOnce(edge: SimulatedEdge, command: EngineCommand) {
    const { world } = this.#cluster;
    const deadlineAtMs = edge.process.clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const call = unnamedCall({
      ...{ accountId: this.accountId, instanceId: '', deadlineAtMs, command },
    });
    const callId = this.#callIds.next();
    const answer = await patiently(world, edge, () => edge.engine.ask({ ...call, callId }));
    return JSON.parse(bodyText(answer));
  }
}

/** Whether a type of transitions is among the wanted types. */
function isWanted(type: string, types: number): boolean {
  return TRANSITIONS.some((known, at) => known === type && (types & (1 << at)) !== 0);
}
