import { z } from 'zod';
import { type ApiKeyRecord, type Creator, keyEndsAtMs } from '#accounts/account';
import type { KeyScope } from '#accounts/api-key';
import { type Membership, mayDo, rightsBeyond } from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import { type CallerAsked, type ConsoleRoute, callerRoute, lineOf } from '#console/app/route';
import { made, shown } from '#console/app/visit';
import type { AuditAction, ConsoleAudit } from '#console/people/audit';
import type { Caller, LiveSessions } from '#console/people/live-sessions';
import { Fault, faultFor } from '#errors/fault';
import type { UsedKey } from '#limiter/admin/accounts';
import { KeyBody, KeyName, KeyScopeBody } from '#limiter/admin/schema';
import { viewOfKey, viewOfUsedKey } from '#limiter/admin/views';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';

type KeyParts = Pick<ConsolePorts, 'keys' | 'clock' | 'members' | 'users'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
};

/** A request about one key or a new key. */
type KeyAsked = Omit<CallerAsked<unknown>, 'body'>;

/** Grace periods of a rotation, in seconds. Source: decision 242. */
const Grace = z.literal([0, 3_600, 86_400, 604_800]);

const NewKeyBody = KeyBody.extend({ name: KeyName });
const NameBody = z.strictObject({ name: KeyName });
const RotationBody = z.strictObject({ grace_seconds: Grace });
const READS = { permission: 'keys.read' } as const;
const WRITES = { permission: 'keys.write' } as const;

/**
 * Routes for API keys in the caller's account. Only the answer that creates a key contains the key
 * itself.
 */
export function keyRoutes(parts: KeyParts): ConsoleRoute[] {
  const { live, keys } = parts;
  const list = { method: 'GET', path: '/keys', ...READS } as const;
  return [
    callerRoute(live, list, async ({ caller }) => {
      const { accountId } = caller.membership;
      return shown(await keyViews(parts, accountId, await keys.listKeys(accountId)));
    }),
    ...makingRoutes(parts),
    ...changes(parts),
  ];
}

/** Routes that create a key. The caller must have every right in the key's scope. */
function makingRoutes(parts: KeyParts): ConsoleRoute[] {
  const { live, keys, clock } = parts;
  const create = { method: 'POST', path: '/keys', body: NewKeyBody, ...WRITES } as const;
  const rotate = {
    ...({ method: 'POST', path: '/keys/:id/rotate' } as const),
    ...{ body: RotationBody, ...WRITES },
  };
  return [
    callerRoute(live, create, async (asked) => {
      const { name, scope, expires_at, networks } = asked.body;
      assertMayGrant(asked.caller, scope);
      const expiresAtMs = expires_at === undefined ? undefined : Date.parse(expires_at);
      const createdBy = creatorOf(asked.caller);
      const act = (accountId: string) =>
        keys.createKey(accountId, { name, scope, expiresAtMs, networks, createdBy });
      const { key, record } = await audited(parts, asked, 'key.create', act, (it) => it.record);
      return made({ ...viewOfKey(record, clock.wallMs()), key });
    }),
    callerRoute(live, rotate, async (asked) => {
      await assertMayHold(parts, asked);
      const graceMs = asked.body.grace_seconds * 1_000;
      const by = creatorOf(asked.caller);
      const act = (accountId: string, id: string) => keys.rotateKey(accountId, id, graceMs, by);
      const { key, record } = await audited(parts, asked, 'key.rotate', act, (it) => it.record);
      return made({ ...viewOfKey(record, clock.wallMs()), key });
    }),
  ];
}

/** Routes that change one key and return it. */
function changes(parts: KeyParts): ConsoleRoute[] {
  const { live, keys, clock } = parts;
  const rename = { method: 'PATCH', path: '/keys/:id', body: NameBody, ...WRITES } as const;
  const rescope = {
    ...({ method: 'PUT', path: '/keys/:id/scope' } as const),
    ...{ body: KeyScopeBody, ...WRITES },
  };
  const plain = [
    ['POST', '/keys/:id/disable', 'key.disable', keys.disableKey],
    ['POST', '/keys/:id/enable', 'key.enable', keys.enableKey],
    ['DELETE', '/keys/:id', 'key.revoke', keys.revokeKey],
  ] as const;
  return [
    callerRoute(live, rename, async (asked) => {
      const { name } = asked.body;
      const act = (accountId: string, id: string) => keys.renameKey(accountId, id, name);
      const record = await audited(parts, asked, 'key.rename', act, (it) => it);
      return shown(viewOfKey(record, clock.wallMs()));
    }),
    callerRoute(live, rescope, async (asked) => {
      const { scope } = asked.body;
      assertMayGrant(asked.caller, scope);
      // A caller who lacks a right of the key must not change this right.
      await assertMayHold(parts, asked);
      const act = (accountId: string, id: string) => keys.setKeyScope(accountId, id, scope);
      const record = await audited(parts, asked, 'key.scope', act, (it) => it);
      return shown(viewOfKey(record, clock.wallMs()));
    }),
    ...plain.map(([method, path, action, change]) =>
      callerRoute(live, { method, path, ...WRITES }, async (asked) => {
        // Enabling a key gives its rights to its holders, so the caller needs these rights.
        if (action === 'key.enable') await assertMayHold(parts, asked);
        const record = await audited(parts, asked, action, change, (it) => it);
        return shown(viewOfKey(record, clock.wallMs()));
      }),
    ),
  ];
}

function creatorOf({ session }: Caller): Creator {
  return { kind: 'user', id: session.userId };
}

/** Throws 403 if a scope has rights that the caller's role lacks. */
function assertMayGrant({ membership: { role } }: Caller, scope: KeyScope): void {
  const [beyond] = rightsBeyond(role, scope);
  if (beyond === undefined) return;
  const text = `your role (${role}) lacks the right ${beyond}, so you cannot give it to a key`;
  throw faultFor('role_not_allowed', text);
}

/**
 * Throws 403 unless the caller may grant the key's present scope. Throws 404 for an unknown key.
 */
async function assertMayHold(parts: KeyParts, asked: KeyAsked): Promise<void> {
  const record = await presentKey(parts, asked);
  if (record === undefined) throw new Fault('not_found', 'the account does not have this key');
  assertMayGrant(asked.caller, record.scope);
}

async function presentKey(
  { keys }: KeyParts,
  { caller, params }: KeyAsked,
): Promise<ApiKeyRecord | undefined> {
  const id = params['id'];
  if (id === undefined) return undefined;
  const found = await keys.listKeys(caller.membership.accountId);
  return found.find(({ record }) => record.id === id)?.record;
}

/**
 * Appends a line to the account's audit trail, changes a key, and appends a line with the outcome.
 */
async function audited<Made>(
  parts: KeyParts,
  asked: KeyAsked,
  action: AuditAction,
  change: (accountId: string, id: string) => Promise<Made>,
  recordOf: (made: Made) => ApiKeyRecord,
): Promise<Made> {
  const { caller, params, visit } = asked;
  const { accountId } = caller.membership;
  const view = (record: ApiKeyRecord) => viewOfKey(record, parts.clock.wallMs());
  const present = await presentKey(parts, asked);
  const before = present && { target: present.id, before: view(present) };
  return await parts.audit.around(
    lineOf(caller, visit, action, before),
    () => change(accountId, params['id'] ?? ''),
    (made) => ({ target: recordOf(made).id, after: view(recordOf(made)) }),
  );
}

/** Maximum number of users that are read concurrently. */
const READS_IN_FLIGHT_MAX = 16;

type MakerPorts = Pick<ConsolePorts, 'users' | 'members' | 'clock'>;

/**
 * Keys as the console shows them: with the creator's name, and the hint `maker_gone` if the creator
 * could not create the key today.
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
 * Keys that an owner must review after a member leaves or changes role: usable keys that the member
 * created and could not create today, and keys without a recorded creator.
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
