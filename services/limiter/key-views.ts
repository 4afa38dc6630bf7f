import type { z } from 'zod';
import { type ApiKeyRecord, keyEndsAtMs } from '#accounts/account';
import { maskedKey } from '#accounts/api-key';
import type { UsedKey } from '#limiter/account-admin';
import type { KeyView } from '#limiter/admin-schema';
import { defined } from '#platform/defined';
import { isoTime } from '#platform/iso-time';
import type { KeyUse } from '#storage/key-use-store';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The age from which a key that was never used is worth a hint, in days. */
const UNUSED_DAYS = 7;

/** How long a key must not have been used for a hint, in days. */
const IDLE_DAYS = 90;

/** A key for the admin port, without secret or digest. */
export function viewOfKey(key: ApiKeyRecord, nowMs: number): z.infer<typeof KeyView> {
  const { id, name, hint, scope, networks, replacedBy } = key;
  return defined<z.infer<typeof KeyView>>({
    id,
    name,
    masked: hint === undefined ? undefined : maskedKey(hint),
    scope,
    status: statusOf(key, nowMs),
    networks: networks === undefined ? undefined : [...networks],
    created_at: isoTime(key.createdAtMs),
    disabled_at: timeOf(key.disabledAtMs),
    revoked_at: timeOf(key.revokedAtMs),
    expires_at: timeOf(key.expiresAtMs),
    replaced_by: replacedBy,
    created_by: key.createdBy,
    last_used: undefined,
    hints: undefined,
  });
}

/** A key of a list, with its last use and what is worth a look. */
export function viewOfUsedKey(used: UsedKey, nowMs: number): z.infer<typeof KeyView> {
  const { record, lastUse } = used;
  const view = { ...viewOfKey(record, nowMs), hints: hintsOf(used, nowMs) };
  return lastUse === undefined ? view : { ...view, last_used: viewOfUse(lastUse) };
}

type UseView = NonNullable<z.infer<typeof KeyView>['last_used']>;

function viewOfUse({ minute, address, client }: KeyUse): UseView {
  return defined<UseView>({ at: isoTime(minute * MINUTE_MS), address, client });
}

function statusOf(key: ApiKeyRecord, nowMs: number): string {
  if (key.revokedAtMs !== undefined) return 'revoked';
  if (nowMs >= keyEndsAtMs(key)) return 'expired';
  return key.disabledAtMs === undefined ? 'active' : 'disabled';
}

/**
 * What is worth a look at a key that can be used. Of one without a `hint`, which a release made that
 * kept no uses, nothing is said before its first use since.
 */
function hintsOf({ record, lastUse }: UsedKey, nowMs: number): string[] {
  if (statusOf(record, nowMs) !== 'active') return [];
  const hints: string[] = [];
  if (lastUse === undefined) {
    const isOld = nowMs - record.createdAtMs >= UNUSED_DAYS * DAY_MS;
    if (isOld && record.hint !== undefined) hints.push('never_used');
  } else if (nowMs - lastUse.minute * MINUTE_MS >= IDLE_DAYS * DAY_MS) hints.push('idle_90_days');
  if (record.expiresAtMs === undefined) hints.push('no_expiry');
  return hints;
}

function timeOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : isoTime(atMs);
}
