import { type AccountWithKeys, isUsable } from '#accounts/account';
import { accountAt } from '#accounts/plan-change';
import type { CallerDescription } from '#wire/limiter-messages';

/**
 * Plan and key of a caller, from its account as the store has it. Undefined if the key may not be
 * used at `nowMs`.
 */
export function describeCaller(
  found: AccountWithKeys | undefined,
  keyDigest: string,
  nowMs: number,
): CallerDescription | undefined {
  const key = found?.keys.find(({ digest }) => digest === keyDigest);
  if (found === undefined || key === undefined || !isUsable(key, nowMs)) return undefined;
  const { id: keyId, scope: keyScope, expiresAtMs: keyExpiresAtMs } = key;
  const { plan } = accountAt(found.account, nowMs);
  return { plan, keyId, keyScope, keyExpiresAtMs };
}
