import { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import type { Creator } from '#accounts/creator';
import type { KeyScope } from '#accounts/key-scope';
import { rightsBeyond } from '#accounts/role';
import { made, shown } from '#console/answer';
import { lineOf } from '#console/caller-line';
import type { AuditAction, ConsoleAudit } from '#console/console-audit';
import type { ConsolePorts } from '#console/console-ports';
import { keyViews } from '#console/key-makers';
import type { Caller, LiveSessions } from '#console/live-sessions';
import { type CallerAsked, type ConsoleRoute, callerRoute } from '#console/route';
import { Fault, faultFor } from '#fault/fault';
import { KeyBody, KeyName, KeyScopeBody } from '#limiter/admin-schema';
import { viewOfKey } from '#limiter/key-views';

type KeyParts = Pick<ConsolePorts, 'keys' | 'clock' | 'members' | 'users'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
};

/** A request about one key, or about a new one. */
type KeyAsked = Omit<CallerAsked<unknown>, 'body'>;

/** Grace periods of a rotation, in seconds. Source: decision 242. */
const Grace = z.literal([0, 3_600, 86_400, 604_800]);

const NewKeyBody = KeyBody.extend({ name: KeyName });
const NameBody = z.strictObject({ name: KeyName });
const RotationBody = z.strictObject({ grace_seconds: Grace });
const READS = { permission: 'keys.read' } as const;
const WRITES = { permission: 'keys.write' } as const;

/** The API keys of the caller's account. The key itself is in the answer that makes it, and nowhere else. */
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

/** Routes that make a key. The caller must have every right of its scope. */
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

/** Routes that change one key and answer it. */
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
      // Who lacks a right of a key decides nothing about that right.
      await assertMayHold(parts, asked);
      const act = (accountId: string, id: string) => keys.setKeyScope(accountId, id, scope);
      const record = await audited(parts, asked, 'key.scope', act, (it) => it);
      return shown(viewOfKey(record, clock.wallMs()));
    }),
    ...plain.map(([method, path, action, change]) =>
      callerRoute(live, { method, path, ...WRITES }, async (asked) => {
        // To let a key in again is to give its rights to those who have it.
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

/** Throws 403 for a scope with rights that the caller's role does not have. */
function assertMayGrant({ membership: { role } }: Caller, scope: KeyScope): void {
  const [beyond] = rightsBeyond(role, scope);
  if (beyond === undefined) return;
  const text = `your role (${role}) does not have the right ${beyond}, so that you cannot give it to a key`;
  throw faultFor('role_not_allowed', text);
}

/** Throws 403 unless the caller may give the present scope of the key, and 404 for no such key. */
async function assertMayHold(parts: KeyParts, asked: KeyAsked): Promise<void> {
  const record = await presentKey(parts, asked);
  if (record === undefined) throw new Fault('not_found', 'the account has no such key');
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

/** Changes keys of the caller's account between two lines of its audit trail. */
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
