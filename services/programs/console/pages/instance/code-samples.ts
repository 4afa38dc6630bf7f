import type { Observation } from '#pages/instance/api';

/** Sample code with the name of its language or framework. */
export type CodeSample = {
  readonly language: string;
  readonly text: string;
};

/** Placeholder, because the console has no value of a key. */
const KEY = 'YOUR_API_KEY';

/** Sample code for an observation in each language, with a placeholder for the key. */
export function codeSamples(
  address: string,
  id: string,
  observation: Observation,
): readonly CodeSample[] {
  const url = `${address}/instances/${id}/process`;
  return [
    { language: 'curl', text: curlFor(url, observation) },
    { language: 'TypeScript', text: typescriptFor(url, observation) },
    { language: 'Python', text: pythonFor(url, observation) },
  ];
}

function curlFor(url: string, observation: Observation): string {
  // A shell takes text between single quotes literally, except the quote itself.
  const body = JSON.stringify(observation).replaceAll("'", `'\\''`);
  return `curl -X POST ${url} \\
  -H "Authorization: Bearer ${KEY}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

function typescriptFor(url: string, observation: Observation): string {
  return `const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    authorization: 'Bearer ${KEY}',
    'content-type': 'application/json',
  },
  body: JSON.stringify(${indented(JSON.stringify(observation, undefined, 2))}),
  signal: AbortSignal.timeout(10_000),
});
const { data } = await response.json();
console.log(response.headers.get('x-throttled') ?? 'processed', data.drift.level);`;
}

function pythonFor(url: string, observation: Observation): string {
  return `import json
import urllib.request

request = urllib.request.Request(
    "${url}",
    method="POST",
    headers={
        "Authorization": "Bearer ${KEY}",
        "Content-Type": "application/json",
    },
    data=json.dumps(${pythonOf(observation)}).encode(),
)
with urllib.request.urlopen(request, timeout=10) as response:
    data = json.load(response)["data"]
    print(response.headers.get("X-Throttled", "processed"), data["drift"]["level"])`;
}

const indented = (text: string): string => text.replaceAll('\n', '\n  ');

/**
 * Formats a JSON value as Python. Strings look the same in both languages; `null`, `true` and
 * `false` differ.
 */
function pythonOf(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}: ${pythonOf(each)}`).join(', ')}}`;
}
