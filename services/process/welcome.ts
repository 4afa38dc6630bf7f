import type { LocalAccount } from '#process/local-account';

/** What a started service can be reached by; URLs without a trailing slash. */
type Addresses = {
  readonly api: string;
  /** Undefined where none was asked for. */
  readonly account: LocalAccount | undefined;
  readonly metrics: string;
  readonly admin: string;
  /** The console, or the link by which its first user enters; undefined: there is none. */
  readonly console: string | undefined;
  readonly isDocumented: boolean;
  /** Where data is kept: `Cassandra`, a file, or memory. */
  readonly place: string;
};

/** What a person sees when the service is up: where it is and what to type next. */
export function welcome(addresses: Addresses): string {
  const { api, account, metrics, admin, isDocumented, place } = addresses;
  const consoleLine = addresses.console === undefined ? [] : [`  Console  ${addresses.console}`];
  const lines = [
    `Identity Engine Service is ready. Data is kept in ${place}.`,
    '',
    `  API      ${api}/v1`,
    ...(isDocumented ? [`  Docs     ${api}/docs   ${api}/redoc   ${api}/openapi.json`] : []),
    `  Metrics  ${metrics}/metrics`,
    `  Admin    ${admin}   (ctl)   ${admin}/cluster`,
    ...consoleLine,
    ...accountLines(api, account),
    '',
    'Ctrl-C stops it.',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function accountLines(api: string, account: LocalAccount | undefined): string[] {
  switch (account?.kind) {
    case undefined:
      return [];
    case 'made':
      return tryIt(api, account.key);
    case 'found':
      return [
        '  API key  as printed when the account "local" was made; another one:',
        `           make ctl ARGS="keys create ${account.id}"`,
      ];
  }
}

function tryIt(api: string, key: string): string[] {
  return [
    `  API key  ${key}`,
    '',
    'Create an instance:',
    '',
    `  curl -s ${api}/v1/instances -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d '{"name":"Ada"}'`,
  ];
}
