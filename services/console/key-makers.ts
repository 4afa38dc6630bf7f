import type { ApiKeyRecord } from '#accounts/account';
import { keyEndsAtMs } from '#accounts/account';
import type { Membership } from '#accounts/people';
import { mayDo, rightsBeyond } from '#accounts/role';
import type { ConsolePorts } from '#console/console-ports';
import type { UsedKey } from '#limiter/account-admin';
import { viewOfUsedKey } from '#limiter/key-views';
import { forEachConcurrently } from '#platform/for-each-concurrently';

/** Users of a listing that are read at once. */
const READS_IN_FLIGHT_MAX = 16;

type MakerPorts = Pick<ConsolePorts, 'users' | 'members' | 'clock'>;

/**
 * Keys as the console shows them: with the name of who made each, and the hint `maker_gone` on keys
 * that their maker could not make today.
 */
export async function keyViews(ports: MakerPorts, accountId: string, keys: readonly UsedKey[]) {
  const { users, members, clock } = ports;
  const nowMs = clock.wallMs();
  const people = (await members.find(accountId)).members;
  const names = new Map<string, string>();
  const makers = new Set(keys.flatMap(({ record }) => makerOf(record) ?? []));
  await forEachConcurrently([...makers], READS_IN_FLIGHT_MAX, async (id) => {
    const name = (await users.find(id))?.user.name;
    if (name !== undefined) names.set(id, name);
  });
  return keys.map((key) => {
    const { created_by, hints = [], ...view } = viewOfUsedKey(key, nowMs);
    const name = created_by && names.get(created_by.id);
    const isOpen = view.status === 'active' || view.status === 'disabled';
    const more = isOpen && isMakerGone(key.record, people) ? ['maker_gone'] : [];
    return {
      ...view,
      ...(created_by && { created_by: name === undefined ? created_by : { ...created_by, name } }),
      hints: [...hints, ...more],
    };
  });
}

/**
 * Keys that an owner decides about when a member leaves or has another role: keys that the person
 * made and could not make today, and keys without a recorded maker, which may be the person's too.
 */
export function keysToDecide(
  keys: readonly UsedKey[],
  userId: string,
  people: readonly Membership[],
  nowMs: number,
): readonly UsedKey[] {
  return keys.filter(({ record }) => {
    if (keyEndsAtMs(record) <= nowMs) return false;
    if (record.createdBy === undefined) return true;
    return makerOf(record) === userId && isMakerGone(record, people);
  });
}

function makerOf({ createdBy }: ApiKeyRecord): string | undefined {
  return createdBy?.kind === 'user' ? createdBy.id : undefined;
}

function isMakerGone(record: ApiKeyRecord, people: readonly Membership[]): boolean {
  const maker = makerOf(record);
  if (maker === undefined) return false;
  const role = people.find(({ userId }) => userId === maker)?.role;
  if (role === undefined || !mayDo(role, 'keys.write')) return true;
  return rightsBeyond(role, record.scope).length > 0;
}
