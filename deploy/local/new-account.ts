import { WHOLE_SCOPE } from '#accounts/api-key';
import { adminClient } from '#ctl/admin-client';
import { AccountView, NewKeyView } from '#limiter/admin/schema';

/** An account with a full-scope API key. */
export type NewAccount = { readonly accountId: string; readonly apiKey: string };

/**
 * Creates an enterprise account with these limits and an API key, through a limiter's admin port.
 * Pass `tokenFile` if the limiters of this user do not publish their token.
 */
export async function newAccount(
  adminUrl: string,
  name: string,
  limits: { readonly requests_per_minute: number; readonly cycles_per_month: number },
  tokenFile?: string,
): Promise<NewAccount> {
  const admin = adminClient(adminUrl, tokenFile);
  const requested = { name, plan: 'enterprise', limits };
  const { id } = await admin.ask(AccountView, 'POST', '/accounts', requested);
  const { key } = await admin.ask(NewKeyView, 'POST', `/accounts/${id}/keys`, {
    scope: WHOLE_SCOPE,
  });
  return { accountId: id, apiKey: key };
}
