import { type ClusterPorts, CtlError } from '#ctl/command';
import { trimPlan } from '#ctl/trim-plan';
import { toFault } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import { type Floor, trimmedOf } from '#storage/floor';
import { gatheredHeads } from '#storage/gathered-heads';
import type { InstanceHead, InstanceStore } from '#storage/instance-store';
import { type EngineClient, unnamedCall } from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

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
export type Trimmed = {
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
export class InstanceTrims {
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
