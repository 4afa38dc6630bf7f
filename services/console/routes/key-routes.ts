import { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { made, shown } from '#console/answer';
import { lineOf } from '#console/caller-line';
import type { AuditAction, ConsoleAudit } from '#console/console-audit';
import type { ConsolePorts } from '#console/console-ports';
import type { LiveSessions } from '#console/live-sessions';
import { type CallerAsked, type ConsoleRoute, callerRoute } from '#console/route';
import { KeyBody, KeyName } from '#limiter/admin-schema';
import { viewOfKey, viewOfUsedKey } from '#limiter/key-views';

type KeyParts = Pick<ConsolePorts, 'keys' | 'clock'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
};

/** Grace periods of a rotation, in seconds. Source: decision 242. */
const Grace = z.literal([0, 3_600, 86_400, 604_800]);

const NewKeyBody = KeyBody.extend({ name: KeyName });
const NameBody = z.strictObject({ name: KeyName });
const RotationBody = z.strictObject({ grace_seconds: Grace });
const READS = { permission: 'keys.read' } as const;
const WRITES = { permission: 'keys.write' } as const;

/** The API keys of the caller's account. The key itself is in the answer that makes it, and nowhere else. */
export function keyRoutes(parts: KeyParts): ConsoleRoute[] {
  const { live, keys, clock } = parts;
  const list = { method: 'GET', path: '/keys', ...READS } as const;
  const create = { method: 'POST', path: '/keys', body: NewKeyBody, ...WRITES } as const;
  const rotate = {
    ...({ method: 'POST', path: '/keys/:id/rotate' } as const),
    ...{ body: RotationBody, ...WRITES },
  };
  return [
    callerRoute(live, list, async ({ caller }) => {
      const found = await keys.listKeys(caller.membership.accountId);
      return shown(found.map((key) => viewOfUsedKey(key, clock.wallMs())));
    }),
    callerRoute(live, create, async (asked) => {
      const { name, scope, expires_at, networks } = asked.body;
      const expiresAtMs = expires_at === undefined ? undefined : Date.parse(expires_at);
      const act = (accountId: string) =>
        keys.createKey(accountId, { name, scope, expiresAtMs, networks });
      const { key, record } = await audited(parts, asked, 'key.create', act, (it) => it.record);
      return made({ ...viewOfKey(record, clock.wallMs()), key });
    }),
    callerRoute(live, rotate, async (asked) => {
      const graceMs = asked.body.grace_seconds * 1_000;
      const act = (accountId: string, id: string) => keys.rotateKey(accountId, id, graceMs);
      const { key, record } = await audited(parts, asked, 'key.rotate', act, (it) => it.record);
      return made({ ...viewOfKey(record, clock.wallMs()), key });
    }),
    ...changes(parts),
  ];
}

/** Routes that change one key and answer it. */
function changes(parts: KeyParts): ConsoleRoute[] {
  const { live, keys, clock } = parts;
  const rename = { method: 'PATCH', path: '/keys/:id', body: NameBody, ...WRITES } as const;
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
    ...plain.map(([method, path, action, change]) =>
      callerRoute(live, { method, path, ...WRITES }, async (asked) => {
        const record = await audited(parts, asked, action, change, (it) => it);
        return shown(viewOfKey(record, clock.wallMs()));
      }),
    ),
  ];
}

/** Changes keys of the caller's account between two lines of its audit trail. */
async function audited<Made>(
  { audit, keys, clock }: KeyParts,
  { caller, params, visit }: Omit<CallerAsked<unknown>, 'body'>,
  action: AuditAction,
  change: (accountId: string, id: string) => Promise<Made>,
  recordOf: (made: Made) => ApiKeyRecord,
): Promise<Made> {
  const { accountId } = caller.membership;
  const id = params['id'] ?? '';
  const view = (record: ApiKeyRecord) => viewOfKey(record, clock.wallMs());
  const found = id === '' ? [] : await keys.listKeys(accountId);
  const present = found.find(({ record }) => record.id === id)?.record;
  const before = present && { target: present.id, before: view(present) };
  return await audit.around(
    lineOf(caller, visit, action, before),
    () => change(accountId, id),
    (made) => ({ target: recordOf(made).id, after: view(recordOf(made)) }),
  );
}
