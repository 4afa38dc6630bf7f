import { isDeepStrictEqual } from 'node:util';
import type { ApiKeyRecord } from '#accounts/account';
import { creatorFrom } from '#accounts/creator';
import type { LineOf } from '#ctl/export-schema';
import { defined } from '#platform/defined';

/** The key that a line of an export is. */
export function keyOf(line: LineOf<'key'>): ApiKeyRecord {
  return defined<ApiKeyRecord>({
    id: line.id,
    digest: line.digest,
    scope: line.scope,
    createdAtMs: line.created_at_ms,
    revokedAtMs: line.revoked_at_ms,
    expiresAtMs: line.expires_at_ms,
    name: line.name,
    hint: line.hint,
    networks: line.networks,
    disabledAtMs: line.disabled_at_ms,
    replacedBy: line.replaced_by,
    createdBy: creatorFrom(line.created_by),
  });
}

/**
 * What is to be put of a key: nothing where it is as it was exported. An earlier try with an older
 * file may have brought it while it could do more; one that was revoked stays so.
 */
export function missing(
  key: ApiKeyRecord,
  there: readonly ApiKeyRecord[],
): readonly ApiKeyRecord[] {
  const found = there.find(({ id }) => id === key.id);
  if (found?.revokedAtMs !== undefined || isDeepStrictEqual(found, key)) return [];
  return [key];
}
