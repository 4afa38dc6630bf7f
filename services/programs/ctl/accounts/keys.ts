import type { z } from 'zod';
import { KEY_NETWORKS_MAX } from '#accounts/account';
import { type KeyScope, scopeOf } from '#accounts/api-key';
import { oneCall, pathOf } from '#ctl/admin-client';
import { type AccountCommand, UsageError } from '#ctl/command';
import { ACCOUNT, KEY_ID } from '#ctl/command-line';
import { table } from '#ctl/printed-text';
import {
  GRACE_MS,
  KeyBody,
  KeysView,
  KeyView,
  NewKeyView,
  RotationView,
} from '#limiter/admin/schema';
import { readNetwork } from '#stdlib/network';

/** Hint below a new key. */
const KEEP_TEXT = 'Store the key now: the key is not shown again.';

const IN_EFFECT = 'the change applies within 30 s.';

/** Scope syntax. `full` allows reads and changes; `audit` and `billing` are separate rights. */
const SCOPES = 'full|read|audit|billing,…';

/** Commands for API keys. */
export const KEY_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['keys', 'create'],
    summary: 'create a key and print the key once',
    description:
      'Creates a key and prints the key once. The store holds only the digest and the last 4 ' +
      'characters of the secret. `--networks` limits the key to up to 20 addresses and networks, ' +
      'separated by commas.',
    args: [ACCOUNT],
    options: {
      name: { value: 'text', about: 'name of the key, up to 64 characters' },
      scope: {
        value: SCOPES,
        about: 'rights of the key (default full)',
        faultOf: scopeFaultOf,
      },
      expires: {
        ...{ value: 'time', about: 'expiry time, such as 2027-01-31T00:00:00Z' },
        faultOf: timeFaultOf,
      },
      networks: {
        ...{ value: 'cidr,cidr', about: 'addresses and networks that may use the key, up to 20' },
        faultOf: networksFaultOf,
      },
    },
    async run(admin, [account = ''], { name, scope = 'full', expires, networks }) {
      const body = {
        name,
        scope: scopeNamed(scope),
        expires_at: expires,
        networks: networks?.split(','),
      };
      const data = await admin.ask(NewKeyView, 'POST', pathOf(account, 'keys'), body);
      return { data, text: `${data.key}\n\n${keyTable([data])}\n${KEEP_TEXT}` };
    },
  },
  oneCall(KeysView, keyTable, {
    words: ['keys', 'list'],
    summary: 'list the keys of an account',
    description:
      'Shows for each key: id, name, scope, status, allowed networks, warnings, and the time, ' +
      'address and program of its last use. Never shows the key itself.',
    request: { method: 'GET', part: 'keys' },
  }),
  {
    kind: 'account',
    words: ['keys', 'rename'],
    summary: 'rename a key',
    description: 'Renames a key.',
    args: [ACCOUNT, KEY_ID, { name: 'name', about: 'the new name, up to 64 characters' }],
    options: {},
    async run(admin, [account = '', key = '', name = '']) {
      const data = await admin.ask(KeyView, 'PUT', partOf(account, key, 'name'), { name });
      return { data, text: keyTable([data]) };
    },
  },
  {
    kind: 'account',
    words: ['keys', 'scope'],
    summary: 'change the scope of a key',
    description: `Changes the scope of a key; ${IN_EFFECT}`,
    args: [ACCOUNT, KEY_ID, { name: SCOPES, about: 'the new scope', faultOf: scopeFaultOf }],
    options: {},
    async run(admin, [account = '', key = '', scope = '']) {
      const body = { scope: scopeNamed(scope) };
      const data = await admin.ask(KeyView, 'PUT', partOf(account, key, 'scope'), body);
      return { data, text: keyTable([data]) };
    },
  },
  {
    kind: 'account',
    words: ['keys', 'rotate'],
    summary: 'replace a key by a new one',
    description:
      'Creates a key with the name, scope, networks and lifetime of the old key, and prints the ' +
      'new key once. The old key works until the grace period ends (default 24 h). ' +
      `\`--grace 0\` revokes the old key; ${IN_EFFECT}`,
    args: [ACCOUNT, KEY_ID],
    options: {
      grace: {
        ...{ value: 'time', about: 'how long the old key keeps working (default 24h)' },
        choices: Object.keys(GRACE_MS),
      },
    },
    async run(admin, [account = '', key = ''], { grace = '24h' }) {
      const data = await admin.ask(RotationView, 'POST', partOf(account, key, 'rotate'), { grace });
      return { data, text: `${data.key}\n\n${keyTable([data, data.replaced])}\n${KEEP_TEXT}` };
    },
  },
  oneChange(
    'POST',
    'disable',
    'disable a key',
    `Disables a key until \`ctl keys enable\`; ${IN_EFFECT}`,
  ),
  oneChange('POST', 'enable', 'enable a disabled key', `Enables a disabled key; ${IN_EFFECT}`),
  oneChange('DELETE', 'revoke', 'revoke a key permanently', `Revokes a key; ${IN_EFFECT}`),
];

/** Fault in an expiry time, if any. The service refuses a past time: nobody could use the key. */
function timeFaultOf(text: string): string | undefined {
  return KeyBody.shape.expires_at.safeParse(text).success
    ? undefined
    : 'must be a time such as 2027-01-31T00:00:00Z';
}

function networksFaultOf(text: string): string | undefined {
  const networks = text.split(',');
  const wrong = networks.find((one) => readNetwork(one) === undefined);
  if (wrong !== undefined) return `has ${JSON.stringify(wrong)}, which is no IP address or CIDR`;
  const most = `must name at most ${KEY_NETWORKS_MAX} networks`;
  return networks.length > KEY_NETWORKS_MAX ? most : undefined;
}

/** Builds a command that changes one key and has no further input. */
function oneChange(
  method: 'POST' | 'DELETE',
  word: 'disable' | 'enable' | 'revoke',
  summary: string,
  description: string,
): AccountCommand {
  return {
    kind: 'account',
    words: ['keys', word],
    summary,
    description,
    args: [ACCOUNT, KEY_ID],
    options: {},
    async run(admin, [account = '', key = '']) {
      const path = partOf(account, key, method === 'DELETE' ? undefined : word);
      const data = await admin.ask(KeyView, method, path);
      return { data, text: keyTable([data]) };
    },
  };
}

function partOf(account: string, key: string, part: string | undefined): string {
  const path = `${pathOf(account, 'keys')}/${encodeURIComponent(key)}`;
  return part === undefined ? path : `${path}/${part}`;
}

/** Parses a scope of comma-separated words. Throws a `UsageError`. */
function scopeNamed(text: string): KeyScope {
  const scope = scopeOf(text.split(','));
  if (scope === undefined) throw new UsageError(`a scope ${scopeFaultOf(text)}`);
  return scope;
}

function scopeFaultOf(text: string): string | undefined {
  return scopeOf(text.split(',')) === undefined ? `must be ${SCOPES}` : undefined;
}

/** Optional columns, shown if any key has a value for them. */
const OPTIONAL_COLUMNS = [
  ['NETWORKS', ({ networks }) => networks?.join(' ')],
  ['DISABLED', ({ disabled_at }) => disabled_at],
  ['REPLACED BY', ({ replaced_by }) => replaced_by],
  ['MADE BY', ({ created_by }) => created_by?.id],
  ['LAST USED', ({ last_used }) => last_used?.at],
  ['FROM', ({ last_used }) => last_used?.address],
  ['BY', ({ last_used }) => last_used?.client],
  ['HINTS', ({ hints = [] }) => hints.join(' ') || undefined],
] as const satisfies [string, (key: Key) => string | undefined][];

type Key = z.infer<typeof KeyView>;

function keyTable(keys: readonly Key[]): string {
  const more = OPTIONAL_COLUMNS.filter(([, of]) => keys.some((key) => of(key) !== undefined));
  const headings = ['KEY ID', 'NAME', 'KEY', 'SCOPE', 'STATUS', 'CREATED', 'EXPIRES', 'REVOKED'];
  const rows = keys.map((key) => {
    const { id, name, masked, scope, status, created_at, expires_at, revoked_at } = key;
    const always = [id, name, masked, scope, status, created_at, expires_at, revoked_at];
    return [...always, ...more.map(([, of]) => of(key))];
  });
  return table([...headings, ...more.map(([heading]) => heading)], rows);
}
