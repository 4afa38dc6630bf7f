import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { CALL_TIMEOUT_MS_MAX } from '#wire/bounds';
import { type EngineClient, type EngineCommand, unnamedCall } from '#wire/engine-messages';

/** Instances of one page of the listing. Source: interface 8.4. */
export const PAGE_ROWS_MAX = 100;

/** Of `GET /instances`: an instance, and how many cycles its present generation has. */
const ListPage = z.object({
  data: z.array(z.object({ id: z.string(), name: z.string(), cycle_count: z.number() })),
  pagination: z.object({ total: z.number() }),
});

/** Of `GET …/history`: an observation, and how many there are that can be read. */
const HistoryPage = z.object({
  data: z.array(z.object({ cycle: z.number(), timestamp: z.string() })),
  pagination: z.object({ total: z.number() }),
});

/** An instance of the listing. */
export type ListedCycles = { readonly id: string; readonly name: string; readonly cycles: number };

/** One observation of a history. */
export type HistoryEntry = {
  /** Its number in the generation, from 1. */
  readonly cycle: number;
  /** Its own time, in Unix milliseconds. */
  readonly timestampMs: number;
  /** How many observations of the generation can be read, this one included. */
  readonly total: number;
};

/**
 * Reads of an account's instances for the console itself: no admission, so they cost the account no
 * request and no cycle. All of them together have until a deadline. They throw the engine's faults.
 */
export class EngineReads {
  readonly #engine: EngineClient;
  readonly #clock: Clock;
  readonly #accountId: string;
  readonly #endMs: number;

  /** `timeoutMs`: how long it may take from now on, in milliseconds. */
  constructor(
    { engine, clock }: { readonly engine: EngineClient; readonly clock: Clock },
    accountId: string,
    timeoutMs: number,
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#accountId = accountId;
    this.#endMs = clock.monotonicMs() + timeoutMs;
  }

  /** What is left of the time, in milliseconds; 0: nothing, and calls are refused. */
  get leftMs(): number {
    return Math.max(0, this.#endMs - this.#clock.monotonicMs());
  }

  /** Instances of the account, the ones that were created last first, and how many it has. */
  async list(offset: number): Promise<{ rows: ListedCycles[]; total: number }> {
    const order = { sort: 'created_at', order: 'desc' } as const;
    const command = { kind: 'list', limit: PAGE_ROWS_MAX, offset, ...order } as const;
    const { data, pagination } = ListPage.parse(await this.#ask('', command));
    const rows = data.map(({ id, name, cycle_count: cycles }) => ({ id, name, cycles }));
    return { rows, total: pagination.total };
  }

  /**
   * The observation of the present generation with `offset` newer ones; undefined: there is none, or
   * none that is kept.
   */
  async observation(instanceId: string, offset: number): Promise<HistoryEntry | undefined> {
    const command = { kind: 'readHistory', limit: 1, offset, isEveryGeneration: false } as const;
    const { data, pagination } = HistoryPage.parse(await this.#ask(instanceId, command));
    const [row] = data;
    if (row === undefined) return undefined;
    const { cycle, timestamp } = row;
    return { cycle, timestampMs: Date.parse(timestamp), total: pagination.total };
  }

  async #ask(instanceId: string, command: EngineCommand): Promise<unknown> {
    // An engine in this process may answer without leaving the turn, for thousands of reads.
    await setImmediate();
    const { leftMs } = this;
    if (leftMs === 0) throw faultFor('deadline_exceeded', 'there was no time for it');
    const deadlineAtMs = this.#clock.wallMs() + Math.min(leftMs, CALL_TIMEOUT_MS_MAX);
    const asked = { accountId: this.#accountId, instanceId, deadlineAtMs, command };
    const { body } = await this.#engine.ask(unnamedCall(asked));
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
  }
}
