/** How long a limiter may take for a command, in milliseconds. */
const ANSWER_MS_MAX = 10_000;

/** An account and a key that may do everything with it. */
export type NewAccount = { readonly accountId: string; readonly apiKey: string };

/** Makes an enterprise account with these limits, and a key, through a limiter's admin port. */
export async function newAccount(
  adminUrl: string,
  name: string,
  limits: { readonly requests_per_minute: number; readonly cycles_per_month: number },
): Promise<NewAccount> {
  const { id } = await post(`${adminUrl}/accounts`, { name, plan: 'enterprise', limits });
  const { key } = await post(`${adminUrl}/accounts/${id}/keys`, { scope: 'full' });
  if (id === undefined || key === undefined) throw new Error('the admin port gave no account');
  return { accountId: id, apiKey: key };
}

async function post(
  url: string,
  body: object,
): Promise<{ readonly id?: string; readonly key?: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the admin port answered ${response.status}: ${text}`);
  return JSON.parse(text).data;
}
