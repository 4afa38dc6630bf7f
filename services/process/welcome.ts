/** What a started service can be reached by; URLs without a trailing slash. */
export type Addresses = {
  readonly api: string;
  readonly key: string | undefined;
  readonly metrics: string;
  readonly admin: string;
  readonly isDocumented: boolean;
  /** Whether data outlives the process. */
  readonly isLasting: boolean;
};

/** What a person sees when the service is up: where it is and what to type next. */
export function welcome(addresses: Addresses): string {
  const { api, key, metrics, admin, isDocumented, isLasting } = addresses;
  const place = isLasting ? 'Cassandra' : 'memory: it is gone when this stops';
  const lines = [
    `Identity Engine Service is ready. Data is kept in ${place}.`,
    '',
    `  API      ${api}/v1`,
    ...(isDocumented ? [`  Docs     ${api}/docs   ${api}/redoc   ${api}/openapi.json`] : []),
    `  Metrics  ${metrics}/metrics`,
    `  Admin    ${admin}   (ctl)`,
    ...(key === undefined ? [] : tryIt(api, key)),
    '',
    'Ctrl-C stops it.',
    '',
  ];
  return `${lines.join('\n')}\n`;
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
