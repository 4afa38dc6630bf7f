import type { z } from 'zod';
import type { AuditEntry } from '#audit/entry';
import { AppendAnswer, type AuditPage, PageAnswer, type PageQuestion } from '#audit/page';
import { auditUnavailable } from '#audit/trail';
import { APPEND_MS_MAX } from '#audit/trail-bounds';
import {
  LinkAnswer,
  NOTIFICATIONS_ID,
  NotifiedAnswer,
  type NotifiedQuestion,
  StandingAnswer,
} from '#billing/billing-questions';
import { Fault } from '#errors/fault';
import { ADDRESS_LENGTH_MAX, CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import type { LimiterClient } from '#grpc/limiter-messages';

/** Limiter refusals that callers get unchanged. */
const OWN: ReadonlySet<string | undefined> = new Set(['audit_unavailable', 'audit_full']);

/**
 * Maximum time between the two lines of a write, in milliseconds: the deadline of the call, and the
 * time to append both lines.
 */
export const AUDITED_MS_MAX = CALL_TIMEOUT_MS_MAX + 2 * APPEND_MS_MAX;

/** A caller's audit trail. The limiter stores the trail. Source: decision 249. */
export class AccountAudit {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /**
   * Appends a line, and fulfils with the line's position (`month.seq`) once the line is durable.
   *
   * Rejects with `audit_unavailable` if the line may be lost, and with `audit_full` in a month with
   * `linesMax` lines. In both cases, the caller must not perform the audited action.
   */
  async append(accountId: string, entry: AuditEntry, linesMax: number): Promise<string> {
    try {
      const answer = await askOfAccount(this.#limiter, accountId, 'audit.append', {
        entry,
        linesMax,
      });
      return AppendAnswer.parse(answer).place;
    } catch (cause) {
      if (cause instanceof Fault && OWN.has(cause.reason)) throw cause;
      throw auditUnavailable(cause);
    }
  }

  /** A page of the account's lines, newest first. Rejects with `service_unavailable`. */
  async page(accountId: string, question: PageQuestion): Promise<AuditPage> {
    const { lines, next } = PageAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'audit.page', question),
    );
    return { lines, next };
  }
}

/** A payment provider page. */
type Page = { readonly url: string };

/** A caller in a billing operation: an API key, or a member in the console. */
type BillingCaller = {
  readonly accountId: string;
  readonly address: string;
  readonly requestId: string | undefined;
} & (
  | { readonly description: { readonly keyId: string } }
  | { readonly member: { readonly userId: string; readonly sessionId: string } }
);

/**
 * Client for the limiter's billing operations. Rejects as `BillingDesk` does. Source: decision 248.
 */
export class AccountBilling {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /** An account's plan and subscription, and the plans that the account may buy. */
  async standing(accountId: string): Promise<z.infer<typeof StandingAnswer>> {
    return StandingAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'billing.standing', {}),
    );
  }

  /** Creates a checkout page at the payment provider for a plan. */
  async checkout(
    caller: BillingCaller,
    request: { readonly plan: string; readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<Page> {
    const body = { by: buyerOf(caller), ...request };
    return LinkAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.checkout', body),
    );
  }

  /** Creates a payment provider page where the subscription can be changed. */
  async portal(caller: BillingCaller, returnUrl: string): Promise<Page> {
    const body = { by: buyerOf(caller), returnUrl };
    return LinkAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.portal', body),
    );
  }

  /** Forwards a payment provider notification, byte for byte. */
  async notified(rawBody: Buffer, signature: string): Promise<void> {
    const body: NotifiedQuestion = { rawBody: rawBody.toString('base64'), signature };
    NotifiedAnswer.parse(
      await askOfAccount(this.#limiter, NOTIFICATIONS_ID, 'billing.notified', body),
    );
  }
}

/** The buyer, for the audit line. Omits an overlong address, because a proxy may send any text. */
function buyerOf(caller: BillingCaller) {
  const { address, requestId } = caller;
  const isAddressLike = address.length <= ADDRESS_LENGTH_MAX;
  const who = 'member' in caller ? caller.member : { keyId: caller.description.keyId };
  return { ...who, address: isAddressLike ? address : undefined, requestId };
}

/** Sends an account operation to any limiter, by name. Rejects with the limiter's faults. */
async function askOfAccount(
  limiter: LimiterClient,
  accountId: string,
  name: string,
  body: unknown,
): Promise<unknown> {
  const call = { kind: 'account', accountId, callId: 0, callTag: 0, name, body } as const;
  return (await limiter.ask(call)).body;
}

/**
 * Audit lines for a write to an instance: a line before the write, and a second line if the write
 * is refused or repeated.
 */
export class AuditedCall {
  readonly #audit: AccountAudit;
  readonly #accountId: string;
  readonly #entry: Omit<AuditEntry, 'outcome'>;
  readonly #linesMax: number;
  #begun: Pick<AuditEntry, 'target' | 'of'>[] = [];

  /** `entry` names actor and action; `begin` adds the target. `linesMax` is the monthly limit. */
  constructor(
    audit: AccountAudit,
    accountId: string,
    entry: Omit<AuditEntry, 'outcome' | 'target'>,
    linesMax: number,
  ) {
    this.#audit = audit;
    this.#accountId = accountId;
    this.#entry = entry;
    this.#linesMax = linesMax;
  }

  /**
   * Writes the first line of a target, and fulfils when the line is durable. `named` has the names
   * of the target before and after the write: after a deletion, only the line has the name. If the
   * promise rejects with `audit_unavailable` or `audit_full`, the write must not happen.
   */
  async begin(target: string, named: Pick<AuditEntry, 'before' | 'after'> = {}): Promise<void> {
    const entry: AuditEntry = { ...this.#entry, ...named, target, outcome: 'begun' };
    const of = await this.#audit.append(this.#accountId, entry, this.#linesMax);
    this.#begun.push({ target, of });
  }

  /** Ends a successful write. Writes a second line only if the answer is a replay. */
  async answered({ isReplayed }: { readonly isReplayed: boolean }): Promise<void> {
    if (isReplayed) await this.ended('repeated');
  }

  /** Writes the second line of each target with `outcome`. Best effort: errors are ignored. */
  async ended(outcome: AuditEntry['outcome']): Promise<void> {
    for (const begun of this.#begun.splice(0)) {
      const entry: AuditEntry = { ...this.#entry, ...begun, outcome };
      await this.#audit.append(this.#accountId, entry, this.#linesMax).catch(() => undefined);
    }
  }
}
