import { WHOLE_SCOPE } from '#accounts/api-key';
import { LOCAL_PLAN } from '#accounts/plan';
import type { AuditEntry } from '#audit/entry';
import { Fault } from '#fault/fault';
import type { Administration } from '#process/admin-port';

/**
 * The id of the local account, which follows from its name: it is found without a search, and the
 * store itself sees to it that two starts at once make one.
 */
export const LOCAL_ACCOUNT_ID = 'localAccount';

const ITSELF: AuditEntry['actor'] = { kind: 'service', id: 'standalone' };

/** The account of a local run. Its key is known only where it was made. */
export type LocalAccount =
  | { readonly kind: 'made'; readonly key: string }
  | { readonly kind: 'found'; readonly id: string };

/**
 * The one account of a local run: made with a key if the store
 * has none, else found again. Rejects as `AccountAdmin` does.
 */
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
