import type { LoadAccount } from '#test/chaos/load';

/** How long the limiter may take for a command, in milliseconds. */
const ANSWER_MS_MAX = 10_000;

/** More than any run needs, so that nothing here is ever refused by a plan. */
const LIMITS = { requests_per_minute: 100_000_000, cycles_per_month: 100_000_000_000 };

/** Makes an enterprise account and a key through the limiter's admin port. */
export async function newAccount(adminUrl: string, name: string): Promise<LoadAccount> {
  const { id } = await post(`${adminUrl}/accounts`, { name, plan: 'enterprise', limits: LIMITS });
  const { key } = await post(`${adminUrl}/accounts/${id}/keys`, { scope: 'full' });
  if (id === undefined || key === undefined) throw new Error('the admin port gave no account');
  return { accountId: id, apiKey: key };
}

async function post(url: string, body: object): Promise<{ id?: string; key?: string }> {
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
