import type { z } from 'zod';
import { type KeyScope, scopeOf } from '#accounts/key-scope';
import { type AccountCommand, CtlError } from '#ctl/command';
import { oneCall, pathOf } from '#ctl/one-call';
import { type Cell, table } from '#ctl/table';
import { GRACE_MS, KeysView, KeyView, NewKeyView, RotationView } from '#limiter/admin-schema';

/** Below a key that has just been made. */
const KEEP_TEXT = 'Keep it: it is not shown again.';

const IN_EFFECT = 'in effect everywhere within a second, or 30 s if the announcement is lost.';

/** How a scope is written: `full` reads and changes, `audit` and `billing` are rights of their own. */
const SCOPES = 'full|read|audit|billing,…';

/** What `ctl` does with the keys of accounts. */
export const KEY_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['keys', 'create'],
    summary:
      'Makes a key and prints it once; only its digest and the last 4 characters of its secret are ' +
      'stored. `--networks` binds it to up to 20 addresses and networks, separated by commas.',
    args: ['account'],
    options: { name: 'text', scope: SCOPES, expires: 'time', networks: 'cidr,cidr' },
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
    summary:
      'Shows the keys of an account by id and name, with scope, status, the networks they are bound ' +
      'to, when, from where and by what program they were used last, and what is worth a look; ' +
      'never the key itself.',
    request: { method: 'GET', part: 'keys' },
  }),
  {
    kind: 'account',
    words: ['keys', 'rename'],
    summary: 'Gives a key another name.',
    args: ['account', 'key id', 'name'],
    options: {},
    async run(admin, [account = '', key = '', name = '']) {
      const data = await admin.ask(KeyView, 'PUT', partOf(account, key, 'name'), { name });
      return { data, text: keyTable([data]) };
    },
  },
  {
    kind: 'account',
    words: ['keys', 'scope'],
    summary: `Gives a key another scope; ${IN_EFFECT}`,
    args: ['account', 'key id', SCOPES],
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
    summary:
      'Makes a key that takes the place of another one, with its name, scope, networks and length ' +
      'of life, and prints it once. The other one works for the grace period more (24 h unless ' +
      `named), without one it is revoked: ${IN_EFFECT}`,
    args: ['account', 'key id'],
    options: { grace: Object.keys(GRACE_MS).join('|') },
    async run(admin, [account = '', key = ''], { grace = '24h' }) {
      if (!Object.hasOwn(GRACE_MS, grace)) {
        const choices = Object.keys(GRACE_MS).join(', ');
        throw new CtlError(`a grace period is one of ${choices}, not ${JSON.stringify(grace)}`);
      }
      const data = await admin.ask(RotationView, 'POST', partOf(account, key, 'rotate'), { grace });
      return { data, text: `${data.key}\n\n${keyTable([data, data.replaced])}\n${KEEP_TEXT}` };
    },
  },
  oneChange('POST', 'disable', `Refuses a key until it is enabled; ${IN_EFFECT}`),
  oneChange('POST', 'enable', `Lets a disabled key in again; ${IN_EFFECT}`),
  oneChange('DELETE', 'revoke', `Revokes a key; ${IN_EFFECT}`),
];

/** A command that changes one key and needs to know nothing but which. */
function oneChange(
  method: 'POST' | 'DELETE',
  word: 'disable' | 'enable' | 'revoke',
  summary: string,
): AccountCommand {
  return {
    kind: 'account',
    words: ['keys', word],
    summary,
    args: ['account', 'key id'],
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

/** The scope of words with commas between them. Throws for words that are no scope. */
function scopeNamed(text: string): KeyScope {
  const scope = scopeOf(text.split(','));
  if (scope !== undefined) return scope;
  throw new CtlError(`a scope is ${SCOPES}, not ${JSON.stringify(text)}`);
}

/** Columns that only some lists need: they stand where a key has something for them. */
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
    return [...always, ...more.map(([, of]) => of(key))].map(printable);
  });
  return table([...headings, ...more.map(([heading]) => heading)], rows);
}

/** Texts that others chose, without what could steer a terminal. */
function printable(text: string | undefined): Cell {
  return text?.replaceAll(/\p{C}/gu, '?');
}
