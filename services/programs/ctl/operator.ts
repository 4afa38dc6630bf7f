import { userInfo } from 'node:os';
import type { AuditEntry } from '#audit/entry';
import { AuditTrail } from '#audit/trail';
import type { ClusterPorts } from '#ctl/command';
import { USER_NAME } from '#limiter/admin/route';
import type { AuditStore } from '#storage/ports/audit';

/**
 * Writes audit lines for changes that `ctl` makes to accounts in the stores. The actor is the
 * operating system user.
 */
export class OperatorAudit {
  readonly #trail: AuditTrail;

  constructor({ audit: store, clock }: Pick<ClusterPorts, 'audit' | 'clock'>) {
    this.#trail = new AuditTrail({ store, clock });
  }

  /**
   * Appends a `begun` line. When the line is durable, resolves with a function that appends the
   * outcome (best effort). After a rejection with `audit_unavailable`, the caller must not act.
   */
  async begin(accountId: string, what: OperatorAction): Promise<EndAction> {
    const of = await this.#trail.append(accountId, { ...byOperator(what), outcome: 'begun' });
    return async (outcome) => {
      const { before: _, ...named } = byOperator(what);
      await this.#trail.append(accountId, { ...named, of, outcome }).catch(() => undefined);
    };
  }

  /**
   * Runs `act` between a `begun` line and an outcome line. Rejects with `audit_unavailable` before
   * `act` runs, and with the errors of `act`.
   */
  async around<Result>(
    accountId: string,
    what: OperatorAction,
    act: () => Promise<Result>,
  ): Promise<Result> {
    return await this.#trail.around(accountId, byOperator(what), act, () => ({}));
  }
}

/** Appends the outcome of an action to the trail. */
export type EndAction = (outcome: AuditEntry['outcome']) => Promise<void>;

/** An action, its target, and values before and after. */
type OperatorAction = Pick<AuditEntry, 'action' | 'target' | 'before' | 'after'>;

function byOperator(what: OperatorAction): Omit<AuditEntry, 'outcome'> {
  return { ...what, actor: { kind: 'operator', name: operatorName() } };
}

/**
 * Deletes the months before `keptFrom` (undefined: all months) from an account's trail. Returns the
 * number of deleted months.
 */
export async function eraseMonths(
  store: AuditStore,
  accountId: string,
  keptFrom: string | undefined,
): Promise<number> {
  const months = await store.months(accountId);
  const over = months.filter((month) => keptFrom === undefined || month < keptFrom);
  for (const month of over) await store.erase(accountId, month);
  return over.length;
}

/** Name of this process's user. Undefined for a user without a name, as in some containers. */
export function operatorName(): string | undefined {
  try {
    const { username } = userInfo();
    return USER_NAME.test(username) ? username : undefined;
  } catch {
    return undefined;
  }
}
