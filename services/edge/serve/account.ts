import type { z } from 'zod';
import type { AuditEntry } from '#audit/entry';
import { AppendAnswer, type AuditPage, PageAnswer, type PageQuestion } from '#audit/page';
import { auditUnavailable } from '#audit/trail';
import {
  LinkAnswer,
  NOTIFICATIONS_ID,
  NotifiedAnswer,
  type NotifiedQuestion,
  StandingAnswer,
} from '#billing/billing-questions';
import { Fault } from '#fault/fault';
import { ADDRESS_LENGTH_MAX } from '#wire/bounds';
import type { LimiterClient } from '#wire/limiter-messages';

/** Refusals of the limiter that callers see as they are. */
const OWN: ReadonlySet<string | undefined> = new Set(['audit_unavailable', 'audit_full']);

/** What the edge writes to and reads of the audit trail of a caller's account. Source: decision 249. */
export class AccountAudit {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /**
   * Appends a line and fulfils with its place once it is durable. Rejects with `audit_unavailable` when
   * that is not certain, and with `audit_full` in a month with `linesMax` lines: then the action must not
   * happen.
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

  /** Some lines of the account, newest first. Rejects with `service_unavailable`. */
  async page(accountId: string, question: PageQuestion): Promise<AuditPage> {
    const { lines, next } = PageAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'audit.page', question),
    );
    return { lines, next };
  }
}

/** A page of the payment provider. */
type Page = { readonly url: string };

/** Who asks for one: with an API key, or in the console. */
type BillingCaller = {
  readonly accountId: string;
  readonly address: string;
  readonly requestId: string | undefined;
} & (
  | { readonly description: { readonly keyId: string } }
  | { readonly member: { readonly userId: string; readonly sessionId: string } }
);

/** What the edge asks of billing; a limiter answers. Rejects as `BillingDesk` does. Source: decision 248. */
export class AccountBilling {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /** What an account has bought, and what it may buy. */
  async standing(accountId: string): Promise<z.infer<typeof StandingAnswer>> {
    return StandingAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'billing.standing', {}),
    );
  }

  /** A page to buy a plan on. */
  async checkout(
    caller: BillingCaller,
    request: { readonly plan: string; readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<Page> {
    const body = { by: buyerOf(caller), ...request };
    return LinkAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.checkout', body),
    );
  }

  /** A page to change what was bought. */
  async portal(caller: BillingCaller, returnUrl: string): Promise<Page> {
    const body = { by: buyerOf(caller), returnUrl };
    return LinkAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.portal', body),
    );
  }

  /** Takes a notification, byte for byte as it came. */
  async notified(rawBody: Buffer, signature: string): Promise<void> {
    const body: NotifiedQuestion = { rawBody: rawBody.toString('base64'), signature };
    NotifiedAnswer.parse(
      await askOfAccount(this.#limiter, NOTIFICATIONS_ID, 'billing.notified', body),
    );
  }
}

/** What a proxy names as an address may be of any length: such a text is none. */
function buyerOf(caller: BillingCaller) {
  const { address, requestId } = caller;
  const isAddressLike = address.length <= ADDRESS_LENGTH_MAX;
  const who = 'member' in caller ? caller.member : { keyId: caller.description.keyId };
  return { ...who, address: isAddressLike ? address : undefined, requestId };
}

/** Asks what is neither admitted nor settled, by its name; any limiter answers. Rejects as that does. */
async function askOfAccount(
  limiter: LimiterClient,
  accountId: string,
  name: string,
  body: unknown,
): Promise<unknown> {
  const call = { kind: 'account', accountId, callId: 0, callTag: 0, name, body } as const;
  return (await limiter.ask(call)).body;
}

/** The lines of one write to an instance: one before it happens, and one more if it is refused or done already. */
export class AuditedCall {
  readonly #audit: AccountAudit;
  readonly #accountId: string;
  readonly #entry: Omit<AuditEntry, 'outcome'>;
  readonly #linesMax: number;
  #begun: Pick<AuditEntry, 'target' | 'of'> | undefined;

  /** `entry` says who does what; what it is done to is known when it begins. `linesMax`: of a month. */
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

  /** Fulfils when the line is durable. Rejects with `audit_unavailable`: it must not happen then. */
  async begin(target: string): Promise<void> {
    const entry: AuditEntry = { ...this.#entry, target, outcome: 'begun' };
    this.#begun = { target, of: await this.#audit.append(this.#accountId, entry, this.#linesMax) };
  }

  /** It is done; says so only if it had been done before. */
  async answered({ isReplayed }: { readonly isReplayed: boolean }): Promise<void> {
    if (isReplayed) await this.ended('repeated');
  }

  /** Says how it ended, where that is not as it began, as far as the trail can be reached. */
  async ended(outcome: AuditEntry['outcome']): Promise<void> {
    if (this.#begun === undefined) return;
    const entry: AuditEntry = { ...this.#entry, ...this.#begun, outcome };
    this.#begun = undefined;
    await this.#audit.append(this.#accountId, entry, this.#linesMax).catch(() => undefined);
  }
}
