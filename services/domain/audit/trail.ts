import { monthEndOf, monthNameOf } from '#accounts/quota-windows';
import { chained, chainStart, headBehind } from '#audit/chain';
import type { AuditEntry, AuditLine } from '#audit/entry';
import { type AuditPage, auditPage, type PageQuestion } from '#audit/page';
import {
  APPEND_MS_MAX,
  APPEND_TRIES_MAX,
  HEADS_HELD_MAX,
  LINE_LENGTH_MAX,
  LINES_PER_CYCLE,
  MONTH_LINES_MIN,
  WAITING_LINES_MAX,
} from '#audit/trail-bounds';
import { Fault, faultFor, toFault } from '#errors/fault';
import { type Clock, withinMs } from '#stdlib/clock';
import { putNewest } from '#stdlib/hash-map';
import {
  AUDIT_LINES_MAX,
  type AuditHead,
  type AuditStore,
  linesToBorder,
  type StoredAuditLine,
} from '#storage/ports/audit';

/** Ports for `AuditTrail`. */
type AuditTrailPorts = {
  readonly store: AuditStore;
  readonly clock: Clock;
  /** Called for each line that was not durable in time. */
  readonly onFailure?: () => void;
};

/**
 * Appends to the audit trails of all accounts, and reads these trails. Several processes may append
 * to an account at the same time: the store orders their lines. Source: decision 249.
 */
export class AuditTrail {
  readonly #ports: AuditTrailPorts;
  readonly #queue: AppendQueue;

  constructor(ports: AuditTrailPorts) {
    this.#ports = ports;
    this.#queue = new AppendQueue(ports);
  }

  /**
   * Appends a line and resolves with its cursor, such as `2026-11.17`, when the line is durable.
   * Rejects with `audit_unavailable` if the line is not durable in time; the caller must then not
   * perform the action. The line may still appear in the trail later. Rejects with `audit_full` if
   * the month already has `linesMax` lines, and with a RangeError if the entry exceeds
   * `LINE_LENGTH_MAX`.
   */
  async append(accountId: string, entry: AuditEntry, linesMax?: number): Promise<string> {
    if (JSON.stringify(entry).length > LINE_LENGTH_MAX) {
      throw new RangeError(
        `a line of the audit trail must have at most ${LINE_LENGTH_MAX} characters`,
      );
    }
    const { clock, onFailure } = this.#ports;
    const append: Append = { entry, linesMax, ...Promise.withResolvers<string>() };
    try {
      this.#queue.add(accountId, append);
      return await withinMs(clock, APPEND_MS_MAX, append.promise, auditUnavailable);
    } catch (error) {
      if (toFault(error).reason !== 'audit_full') onFailure?.();
      throw error;
    }
  }

  /** A page from an account's lines, newest first; see `auditPage`. */
  async page(accountId: string, { before, limit, ...filter }: PageQuestion): Promise<AuditPage> {
    return await auditPage(this.#ports.store, accountId, filter, { before, limit });
  }

  /** An account's heads for all months, oldest first. */
  async heads(accountId: string): Promise<AuditHead[]> {
    const { store } = this.#ports;
    const months = await store.months(accountId);
    const heads = await Promise.all(months.map((month) => store.head(accountId, month)));
    return heads.filter((head) => head !== undefined);
  }

  /**
   * A month's stored lines, numbered `after + 1` to `after + count`, oldest first. Pass `next` as
   * `after` in the following call; undefined at the end.
   */
  async linesAfter(
    accountId: string,
    month: string,
    after: number,
    count: number,
  ): Promise<{ readonly lines: StoredAuditLine[]; readonly next?: number }> {
    const { store } = this.#ports;
    const end = (await store.head(accountId, month))?.lines ?? 0;
    const newest = Math.min(after + count, end);
    if (newest <= after) return { lines: [] };
    const read = await store.read(accountId, month, newest, count);
    const lines = read.filter(({ seq }) => seq > after).toReversed();
    return newest < end ? { lines, next: newest } : { lines };
  }

  /**
   * Writes the line `begun`, runs `act`, and writes a line with the outcome and the details from
   * `shown`. If the first line cannot be written, rejects like `append` and does not run `act`.
   * Rejects with the error of `act`. If the second line cannot be written, the result of `act` is
   * still returned.
   */
  async around<Result>(
    accountId: string,
    entry: Omit<AuditEntry, 'outcome' | 'of'>,
    act: () => Promise<Result>,
    shown: (result: Result) => Pick<AuditEntry, 'target' | 'after'>,
  ): Promise<Result> {
    const of = await this.append(accountId, { ...entry, outcome: 'begun' });
    const { before: _, ...named } = entry;
    const end = async (ended: Pick<AuditEntry, 'outcome' | 'target' | 'after'>) => {
      await this.append(accountId, { ...named, ...ended, of }).catch(() => undefined);
    };
    try {
      const result = await act();
      await end({ ...shown(result), outcome: 'done' });
      return result;
    } catch (error) {
      await end({ outcome: toFault(error).code });
      throw error;
    }
  }
}

/** Maximum number of lines per month. Once reached, writes to instances are refused. */
export function monthLinesMax(cyclesPerMonth: number): number {
  return Math.max(MONTH_LINES_MIN, LINES_PER_CYCLE * cyclesPerMonth);
}

/** A queued entry. Its promise resolves with the line's cursor. */
type Append = PromiseWithResolvers<string> & {
  readonly entry: AuditEntry;
  /** Monthly line count from which the entry is refused; undefined: no limit. */
  readonly linesMax: number | undefined;
};

/** Head before an account's next line, and the previous month's head if the month is new. */
type Place = { readonly head: AuditHead; readonly previous: AuditLine['previous'] };

/**
 * Group commit per account. Queued entries form batches of at most `AUDIT_LINES_MAX` lines, so that
 * a busy account needs a single conditional write for many lines.
 */
class AppendQueue {
  readonly #store: AuditStore;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Append[]>();
  readonly #heads = new Map<string, AuditHead>();

  constructor({ store, clock }: { readonly store: AuditStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Queues an entry. Throws `audit_unavailable` if the account has too many queued entries. */
  add(accountId: string, append: Append): void {
    const waiting = this.#waiting.get(accountId);
    if (waiting === undefined) {
      this.#waiting.set(accountId, [append]);
      void this.#drain(accountId);
    } else if (waiting.length < WAITING_LINES_MAX) waiting.push(append);
    else {
      const text = 'too many actions of the account wait for the audit trail; retry';
      throw faultFor('audit_unavailable', text, { retryAfterS: 1 });
    }
  }

  async #drain(accountId: string): Promise<void> {
    const waiting = this.#waiting.get(accountId) ?? [];
    while (waiting.length > 0) {
      try {
        await this.#writeSome(accountId, waiting);
      } catch (error) {
        this.#heads.delete(accountId);
        for (const { reject } of waiting.splice(0)) reject(auditUnavailable(error));
      }
    }
    this.#waiting.delete(accountId);
  }

  /** Writes the oldest queued entries as one batch. Rejects if the store refuses the batch. */
  async #writeSome(accountId: string, waiting: Append[]): Promise<void> {
    for (let tries = 0; tries < APPEND_TRIES_MAX; tries += 1) {
      const { head, previous } = await this.#place(accountId);
      this.#refuseBeyond(head, waiting);
      if (waiting.length === 0) return;
      const batch = waiting.slice(0, Math.min(AUDIT_LINES_MAX, linesToBorder(head.lines)));
      const at = new Date(this.#clock.wallMs()).toISOString();
      const texts = batch.map(({ entry }, index) => {
        const { month, lines } = head;
        const line = { account_id: accountId, month, seq: lines + 1 + index, at };
        return textOf(line, entry, index === 0 ? previous : undefined);
      });
      const lines = chained(head, texts);
      const next = headBehind(head, lines);
      if (!(await this.#isAppended(accountId, head, lines, next))) continue;
      putNewest(this.#heads, accountId, next, HEADS_HELD_MAX);
      waiting.splice(0, batch.length);
      for (const [index, { resolve }] of batch.entries()) {
        resolve(`${head.month}.${head.lines + 1 + index}`);
      }
      return;
    }
    throw new Fault('service_unavailable', 'too many concurrent audit writers; retry');
  }

  /** Rejects queued entries whose month is full. */
  #refuseBeyond({ lines }: AuditHead, waiting: Append[]): void {
    const isFull = ({ linesMax }: Append) => linesMax !== undefined && lines >= linesMax;
    const refused = waiting.filter(isFull);
    if (refused.length === 0) return;
    const kept = waiting.filter((append) => !isFull(append));
    waiting.splice(0, waiting.length, ...kept);
    const nowMs = this.#clock.wallMs();
    const retryAfterS = Math.ceil((monthEndOf(nowMs) - nowMs) / 1_000);
    const text = 'the audit trail has reached the monthly line limit of the plan';
    for (const { reject } of refused) reject(faultFor('audit_full', text, { retryAfterS }));
  }

  /** Whether the store has appended the lines. Reads the lines back if the answer was lost. */
  async #isAppended(
    accountId: string,
    head: AuditHead,
    lines: Parameters<AuditStore['append']>[2],
    next: AuditHead,
  ): Promise<boolean> {
    this.#heads.delete(accountId);
    try {
      return await this.#store.append(accountId, head, lines);
    } catch (error) {
      if (!(error instanceof Fault) || !error.isOutcomeUnknown) throw error;
      // Reading the head first completes a pending write. Others may have appended since.
      await this.#store.head(accountId, head.month);
      const [last] = await this.#store.read(accountId, head.month, next.lines, 1);
      return last?.hash === next.hash;
    }
  }

  /**
   * Month and head for the next line: the present month, or the newest stored month if the clock
   * stepped back.
   */
  async #place(accountId: string): Promise<Place> {
    const present = monthNameOf(this.#clock.wallMs());
    const known = this.#heads.get(accountId);
    if (known !== undefined && known.month >= present) return { head: known, previous: undefined };
    const stored = await this.#newestHead(accountId);
    if (stored !== undefined && stored.month >= present)
      return { head: stored, previous: undefined };
    return { head: chainStart(accountId, present), previous: stored };
  }

  /** Head of the newest month with lines. A failed append may leave a month without lines. */
  async #newestHead(accountId: string): Promise<AuditHead | undefined> {
    for (const month of (await this.#store.months(accountId)).toReversed()) {
      const head = await this.#store.head(accountId, month);
      if (head !== undefined) return head;
    }
    return undefined;
  }
}

/** Line text, as hashed. The field order is fixed. */
function textOf(
  place: Pick<AuditLine, 'account_id' | 'month' | 'seq' | 'at'>,
  entry: AuditEntry,
  previous: AuditLine['previous'],
): string {
  const { actor, address, requestId, action, target, outcome, of, before, after } = entry;
  const who = { actor, address, request_id: requestId };
  return JSON.stringify({ ...place, ...who, action, target, outcome, of, before, after, previous });
}

/** Error for an action whose line cannot be made durable. Source: decision 249. */
export function auditUnavailable(cause?: unknown): Fault {
  const text = 'the audit trail cannot be written, so the action was refused; retry';
  return faultFor('audit_unavailable', text, { retryAfterS: 1, cause });
}
