import { type Append, AppendQueue } from '#audit/append-queue';
import type { AuditEntry } from '#audit/audit-entry';
import { type AuditPage, auditPage } from '#audit/audit-page';
import type { PageQuestion } from '#audit/audit-questions';
import { auditUnavailable } from '#audit/audit-unavailable';
import { APPEND_MS_MAX, LINE_LENGTH_MAX, LINES_PER_CYCLE, MONTH_LINES_MIN } from '#audit/bounds';
import { toFault } from '#fault/fault';
import { type Clock, withinMs } from '#platform/clock';
import type { AuditHead, AuditStore, StoredAuditLine } from '#storage/audit-store';

/** What keeps the audit trails needs. */
export type AuditTrailPorts = {
  readonly store: AuditStore;
  readonly clock: Clock;
  /** Hears of each line that did not become durable in time. */
  readonly onFailure?: () => void;
};

/**
 * The audit trails of all accounts, as one process appends to them. Several processes may, in any
 * account: the store orders them. Source: decision 249.
 */
export class AuditTrail {
  readonly #ports: AuditTrailPorts;
  readonly #queue: AppendQueue;

  constructor(ports: AuditTrailPorts) {
    this.#ports = ports;
    this.#queue = new AppendQueue(ports);
  }

  /**
   * Appends a line and fulfils with its place, `2026-11.17`, once it is durable. Rejects with
   * `audit_unavailable` when that cannot be, or not in time: then the action must not happen. The line
   * may come to stand there all the same. Rejects with `audit_full` where the month has `linesMax` lines.
   */
  async append(accountId: string, entry: AuditEntry, linesMax?: number): Promise<string> {
    if (JSON.stringify(entry).length > LINE_LENGTH_MAX) {
      throw new RangeError(`a line of the audit trail has up to ${LINE_LENGTH_MAX} characters`);
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

  /** Some lines of an account, newest first: see `auditPage`. */
  async page(accountId: string, { before, limit, ...filter }: PageQuestion): Promise<AuditPage> {
    return await auditPage(this.#ports.store, accountId, filter, { before, limit });
  }

  /** How far each month of an account has come, oldest first. */
  async heads(accountId: string): Promise<AuditHead[]> {
    const { store } = this.#ports;
    const months = await store.months(accountId);
    const heads = await Promise.all(months.map((month) => store.head(accountId, month)));
    return heads.filter((head) => head !== undefined);
  }

  /**
   * The stored lines of a month with numbers above `after`, as they are, oldest first, of `count`
   * numbers; `next`: where those behind them begin, undefined: nowhere.
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
   * Does something between two lines: `entry` as begun before it, its outcome behind it, with what
   * `shown` makes of the result. Rejects as `append` before anything has happened, and as `act`. What
   * has happened is answered also where its second line cannot be written.
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

/** Lines of a month from which on writes to instances are refused. */
export function monthLinesMax(cyclesPerMonth: number): number {
  return Math.max(MONTH_LINES_MIN, LINES_PER_CYCLE * cyclesPerMonth);
}
