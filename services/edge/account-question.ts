import type { LimiterClient } from '#wire/limiter-messages';

/** Asks what is neither admitted nor settled, by its name; any limiter answers. Rejects as that does. */
export async function askOfAccount(
  limiter: LimiterClient,
  accountId: string,
  name: string,
  body: unknown,
): Promise<unknown> {
  const call = { kind: 'account', accountId, callId: 0, callTag: 0, name, body } as const;
  return (await limiter.ask(call)).body;
}
