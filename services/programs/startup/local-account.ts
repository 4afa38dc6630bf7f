import { WHOLE_SCOPE } from '#accounts/api-key';
import { LOCAL_PLAN } from '#accounts/plan';
import type { AuditEntry } from '#audit/entry';
import { Fault } from '#errors/fault';
import type { Administration } from '#startup/process/admin-port';

/**
 * Id of the local account. With a fixed id, a start needs no search, and the store's uniqueness
 * check lets concurrent starts create a single account.
 */
export const LOCAL_ACCOUNT_ID = 'localAccount';

const ITSELF: AuditEntry['actor'] = { kind: 'service', id: 'standalone' };

/** Account of a local run. Only the run that created the account has its key. */
export type LocalAccount =
  | { readonly kind: 'made'; readonly key: string }
  | { readonly kind: 'found'; readonly id: string };

/** Finds the local account, or creates the account and a key. Rejects as `AccountAdmin` does. */
export async function localAccount({ admin, audit }: Administration): Promise<LocalAccount> {
  const id = LOCAL_ACCOUNT_ID;
  if ((await admin.find(id)) !== undefined) return { kind: 'found', id };
  const made = async <Made>(action: string, act: () => Promise<Made>) =>
    await audit.around(id, { actor: ITSELF, action }, act, () => ({}));
  try {
    await made('account.create', () =>
      admin.createAccount({ id, name: 'local', choice: LOCAL_PLAN }),
    );
  } catch (error) {
    if (error instanceof Fault && error.code === 'conflict') return { kind: 'found', id };
    throw error;
  }
  const { key } = await made('key.create', () => admin.createKey(id, { scope: WHOLE_SCOPE }));
  return { kind: 'made', key };
}
