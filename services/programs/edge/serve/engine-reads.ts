import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { faultFor } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  bodyText,
  type EngineClient,
  type EngineCommand,
  unnamedCall,
} from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';

/** Number of instances per list page. Source: interface 8.4. */
export const PAGE_ROWS_MAX = 100;

/** Partial answer to `GET /instances`. `cycle_count` counts the current generation. */
const ListPage = z.object({
  data: z.array(
    z.object({
      ...{ id: z.string(), name: z.string(), cycle_count: z.number() },
      ...{ created_at: z.string(), tags: z.record(z.string(), z.string()).default({}) },
    }),
  ),
  pagination: z.object({ total: z.number() }),
});

/** Partial answer to `GET …/history`. `total` counts the readable observations. */
const HistoryPage = z.object({
  data: z.array(z.object({ cycle: z.number(), timestamp: z.string() })),
  pagination: z.object({ total: z.number() }),
});

/** Partial answer to `GET /webhooks`. */
const WebhookList = z.object({ data: z.array(z.unknown()) });

/** A listed instance, with the cycles in its current generation. */
export type ListedCycles = { readonly id: string; readonly name: string; readonly cycles: number };

/** A tag: key and value. */
type Tag = readonly [key: string, value: string];

/** A listed instance with its tags, and its creation time in Unix milliseconds. */
type ListedTags = ListedCycles & {
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
};

/** A history entry. */
export type HistoryEntry = {
  /** Position in the generation, from 1. */
  readonly cycle: number;
  /** Observation timestamp, in Unix milliseconds. */
  readonly timestampMs: number;
  /** Readable observations in the generation, including this observation. */
  readonly total: number;
};

/**
 * Reads an account's instances for the console. These reads skip admission, so they cost the
 * account no request and no cycle. All reads share one deadline. Throws the engine's faults.
 */
export class EngineReads {
  readonly #engine: EngineClient;
  readonly #clock: Clock;
  readonly #accountId: string;
  readonly #endMs: number;

  /** `timeoutMs` is the time for all reads together, in milliseconds. */
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

  /** Remaining time, in milliseconds. At 0, further reads throw `deadline_exceeded`. */
  get leftMs(): number {
    return Math.max(0, this.#endMs - this.#clock.monotonicMs());
  }

  /** A page with the account's instances, newest first, and the total instance count. */
  async list(offset: number): Promise<{ rows: ListedCycles[]; total: number }> {
    const { rows, total } = await this.listTagged(offset);
    return { rows: rows.map(({ id, name, cycles }) => ({ id, name, cycles })), total };
  }

  /**
   * The same page with the tags of the instances. With `tag`, only instances with this tag: throws
   * `index_rebuilding` while the index is built.
   */
  async listTagged(offset: number, tag?: Tag): Promise<{ rows: ListedTags[]; total: number }> {
    const order = { sort: 'created_at', order: 'desc' } as const;
    const filter = tag === undefined ? {} : { filter: { tags: [tag] } };
    const command = { kind: 'list', limit: PAGE_ROWS_MAX, offset, ...order, ...filter } as const;
    const { data, pagination } = ListPage.parse(await this.#ask('', command));
    const rows = data.map(({ id, name, cycle_count: cycles, tags, created_at }) => ({
      ...{ id, name, cycles, tags },
      createdAtMs: Date.parse(created_at),
    }));
    return { rows, total: pagination.total };
  }

  /** Number of readable observations in all generations of an instance. */
  async observationCount(instanceId: string): Promise<number> {
    const command = { kind: 'readHistory', limit: 1, offset: 0, isEveryGeneration: true } as const;
    return HistoryPage.parse(await this.#ask(instanceId, command)).pagination.total;
  }

  /** Number of webhook endpoints of the account. */
  async webhookCount(): Promise<number> {
    const none = { settings: {}, positions: [] };
    const list = { kind: 'webhook', action: 'list', endpointId: '', ...none } as const;
    return WebhookList.parse(await this.#ask('', list)).data.length;
  }

  /**
   * The observation after `offset` newer observations in the current generation. Undefined if this
   * observation does not exist or is no longer stored.
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
    // Yield to the event loop. A local engine may answer thousands of reads in one turn.
    await setImmediate();
    const { leftMs } = this;
    if (leftMs === 0) throw faultFor('deadline_exceeded', 'the deadline has passed');
    const deadlineAtMs = this.#clock.wallMs() + Math.min(leftMs, CALL_TIMEOUT_MS_MAX);
    const asked = { accountId: this.#accountId, instanceId, deadlineAtMs, command };
    return JSON.parse(bodyText(await this.#engine.ask(unnamedCall(asked))));
  }
}
