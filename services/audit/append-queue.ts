import { monthEndOf, monthNameOf } from '#accounts/month';
import type { AuditEntry, AuditLine } from '#audit/audit-entry';
import { auditUnavailable } from '#audit/audit-unavailable';
import { APPEND_TRIES_MAX, HEADS_HELD_MAX, WAITING_LINES_MAX } from '#audit/bounds';
import { chained, chainStart, headBehind } from '#audit/hash-chain';
import { Fault, faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { putNewest } from '#platform/put-newest';
import {
  AUDIT_LINES_MAX,
  type AuditHead,
  type AuditStore,
  linesToBorder,
} from '#storage/audit-store';

/** An entry that waits to be written, and its promise: the place of its line. */
export type Append = PromiseWithResolvers<string> & {
  readonly entry: AuditEntry;
  /** Lines of a month from which on this one is refused; undefined: it always goes on. */
  readonly linesMax: number | undefined;
};

/** Where an account's next line goes, and what the first line of a month says of the one before. */
type Place = { readonly head: AuditHead; readonly previous: AuditLine['previous'] };

/**
 * Writes lines account by account, one batch after the other: what has come meanwhile goes together, so
 * that a busy account pays one conditional write for many lines.
 */
export class AppendQueue {
  readonly #store: AuditStore;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Append[]>();
  readonly #heads = new Map<string, AuditHead>();

  constructor({ store, clock }: { readonly store: AuditStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes an entry. Throws `audit_unavailable` when too many of the account wait. */
  add(accountId: string, append: Append): void {
    const waiting = this.#waiting.get(accountId);
    if (waiting === undefined) {
      this.#waiting.set(accountId, [append]);
      void this.#drain(accountId);
    } else if (waiting.length < WAITING_LINES_MAX) waiting.push(append);
    else {
      const text = 'too many actions of the account wait for the audit trail';
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

  /** Writes the oldest lines, as many as go together. Rejects when the store does not take them. */
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
    throw new Fault('service_unavailable', 'others append to the audit trail all the time');
  }

  /** Refuses those of the waiting entries whose month is full. */
  #refuseBeyond({ lines }: AuditHead, waiting: Append[]): void {
    const isFull = ({ linesMax }: Append) => linesMax !== undefined && lines >= linesMax;
    const refused = waiting.filter(isFull);
    if (refused.length === 0) return;
    const kept = waiting.filter((append) => !isFull(append));
    waiting.splice(0, waiting.length, ...kept);
    const nowMs = this.#clock.wallMs();
    const retryAfterS = Math.ceil((monthEndOf(nowMs) - nowMs) / 1_000);
    const text = 'the audit trail has as many lines of this month as the plan allows';
    for (const { reject } of refused) reject(faultFor('audit_full', text, { retryAfterS }));
  }

  /** Whether the store took the lines. It is asked again where its answer was lost. */
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
      // What is under way is decided by the read of the head; others may have gone on since.
      await this.#store.head(accountId, head.month);
      const [last] = await this.#store.read(accountId, head.month, next.lines, 1);
      return last?.hash === next.hash;
    }
  }

  /** Where the next line goes: in the present month, or the newest one if the clock went back. */
  async #place(accountId: string): Promise<Place> {
    const present = monthNameOf(this.#clock.wallMs());
    const known = this.#heads.get(accountId);
    if (known !== undefined && known.month >= present) return { head: known, previous: undefined };
    const stored = await this.#newestHead(accountId);
    if (stored !== undefined && stored.month >= present)
      return { head: stored, previous: undefined };
    return { head: chainStart(accountId, present), previous: stored };
  }

  /** A month may have been named by an append that never came: then the one before it counts. */
  async #newestHead(accountId: string): Promise<AuditHead | undefined> {
    for (const month of (await this.#store.months(accountId)).toReversed()) {
      const head = await this.#store.head(accountId, month);
      if (head !== undefined) return head;
    }
    return undefined;
  }
}

/** A line as it is hashed: its fields are always in this order. */
function textOf(
  place: Pick<AuditLine, 'account_id' | 'month' | 'seq' | 'at'>,
  entry: AuditEntry,
  previous: AuditLine['previous'],
): string {
  const { actor, address, requestId, action, target, outcome, of, before, after } = entry;
  const who = { actor, address, request_id: requestId };
  return JSON.stringify({ ...place, ...who, action, target, outcome, of, before, after, previous });
}
