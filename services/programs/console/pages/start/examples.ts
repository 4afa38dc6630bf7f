import type { Step } from '#console/answers';

/** Placeholder for the address of the API, if the console does not know the address. */
export const UNKNOWN_API = 'https://YOUR-HOST/v1';

/** How an operator makes the console show the address of the API. */
export const HOW_TO_SET =
  'The console does not know the address of the API. The operator of this service sets the ' +
  'address with SERVICE_API_URL.';

const HEADERS = `-H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`;

/** Shell commands for a first step. Undefined for a step without a command. */
export function commandsFor(step: Step, apiUrl: string): string | undefined {
  const call = (path: string, body?: string) =>
    body === undefined
      ? `curl -s "${apiUrl}${path}" -H "Authorization: Bearer $KEY"`
      : `curl -s "${apiUrl}${path}" ${HEADERS} \\\n  -d '${body}'`;
  switch (step) {
    case 'call':
      return `export KEY=svc_sk_…\n${call('/account')}`;
    case 'instance':
      return call('/instances', '{"name": "Ada"}');
    case 'observation':
      return `export ID=inst_…\n${call(
        '/instances/$ID/process',
        '{"mode_target": "EXPLORATION", "signal_strength": 0.8}',
      )}`;
    case 'connection':
      return `npm install identity-engine\nexport IDENTITY_ENGINE_BASE_URL=${apiUrl} IDENTITY_ENGINE_API_KEY=$KEY`;
    case 'key':
      return undefined;
  }
}
