import { sleep } from 'k6';
import { type BatchRequest, batch, type Response } from 'k6/http';
import { Counter } from 'k6/metrics';
import type { KnownLimits } from './limit-headers.ts';
import { resetOf, wholeHeader } from './limit-headers.ts';
import { headersOf, noteWindow } from './measured-call.ts';
import { creationOf, PAST_S } from './mix.ts';

/*
 * Setup and teardown of a k6 run. Setup creates instances in the given accounts. Teardown reads
 * stored and charged cycles and deletes the instances. The load's figures exclude these calls.
 */

const cyclesStored = new Counter('cycles_stored');
const cyclesCharged = new Counter('cycles_charged');

/** Number of requests in flight. */
const IN_FLIGHT = 20;

/** Maximum number of attempts per request before the run aborts. */
const ATTEMPTS_MAX = 40;

/** Minimum pause before a retry, in seconds. */
const PAUSE_S = 1;
/** Maximum pause before a retry, in seconds: slightly more than a rate limit window. */
const PAUSE_S_MAX = 61;

/** Number of hexadecimal digits in an instance id, after the prefix. */
const ID_DIGITS = 16;

/**
 * Setup data for the load. `digits` joins the ids of an account's instances to one text, because
 * every virtual user has a copy of this data.
 */
export type Seeded = {
  /** Timestamp of the first observation, in Unix seconds. */
  readonly firstS: number;
  /** End of the first account's first rate limit window, in Unix seconds. */
  readonly firstResetS: number;
  readonly accounts: readonly {
    readonly limits: KnownLimits;
    readonly monthlyBefore: number;
    readonly digits: string;
  }[];
};

/** Parameters of seeding. */
export type Seeding = {
  readonly base: string;
  readonly keys: readonly string[];
  readonly instances: number;
  /** Indexes of the accounts that receive instances in turn. */
  readonly owners: readonly number[];
  /** Whether to count the call that reads the first account in the account's rate limit window. */
  readonly countsWindows: boolean;
};

/** Account index and id of the instance with this number. */
export function placeOf(
  { accounts }: Seeded,
  owners: readonly number[],
  instance: number,
): { account: number; id: string } {
  const account = owners[instance % owners.length] ?? 0;
  const start = Math.floor(instance / owners.length) * ID_DIGITS;
  const digits = accounts[account]?.digits.slice(start, start + ID_DIGITS) ?? '';
  return { account, id: `inst_${digits}` };
}

/** Reads the accounts and creates the instances. Throws after a permanent refusal. */
export function seed({ base, keys, instances, owners, countsWindows }: Seeding): Seeded {
  const answers = keys.map((key) => ask([get(`${base}/v1/account`, key)])[0]);
  const firstResetS = answers[0] === undefined ? 0 : (resetOf(textOf(answers[0])) ?? 0);
  if (countsWindows && answers[0] !== undefined) noteWindow(answers[0], firstResetS);
  const run = Date.now();
  const requests = Array.from({ length: instances }, (_, instance): BatchRequest => {
    const key = keys[owners[instance % owners.length] ?? 0] ?? '';
    const headers = { ...headersOf(key), 'idempotency-key': `load-${run}-${instance}` };
    const params = { headers, tags: { name: '/v1/instances', part: 'setup' } };
    return { method: 'POST', url: `${base}/v1/instances`, body: creationOf(instance), params };
  });
  const digits = keys.map(() => '');
  ask(requests, 'seeding').forEach((answer, instance) => {
    const owner = owners[instance % owners.length] ?? 0;
    const found = /"id":"inst_([0-9a-f]{16})"/.exec(answer.body ?? '')?.[1];
    if (found === undefined) throw new Error(`seeding: ${reasonOf(answer)}`);
    digits[owner] += found;
  });
  const accounts = answers.map((answer, index) => {
    const limits = limitsIn(answer?.body ?? '');
    const monthlyBefore = monthlyOf(answer);
    return { limits, monthlyBefore, digits: digits[index] ?? '' };
  });
  console.log(`load: created ${instances} instances in ${keys.length} accounts`);
  return { firstS: Math.floor(run / 1_000) - PAST_S, firstResetS, accounts };
}

function limitsIn(body: string): KnownLimits {
  const { requests_per_minute, cycles_per_month } = JSON.parse(body).data.plan;
  return { requestsPerMinute: requests_per_minute, cyclesPerMonth: cycles_per_month };
}

/** Remaining cycles of the month, from an answer. */
function monthlyOf(answer: Response | undefined): number {
  return answer === undefined ? 0 : (wholeHeader(textOf(answer), 'X-Monthly-Remaining') ?? 0);
}

function textOf(answer: Response) {
  return { ...answer, body: answer.body ?? '' };
}

/** Reads stored and charged cycles, and deletes the instances. */
export function clear(seeding: Seeding, seeded: Seeded): void {
  const { base, keys, instances, owners, countsWindows } = seeding;
  const all = Array.from({ length: instances }, (_, instance) => {
    const { account, id } = placeOf(seeded, owners, instance);
    return { key: keys[account] ?? '', url: `${base}/v1/instances/${id}` };
  });
  const stored = ask(
    all.map(({ url, key }) => get(url, key)),
    'reading back',
  );
  for (const { body } of stored) {
    cyclesStored.add(Number(/"cycle_count":(\d+)/.exec(body ?? '')?.[1] ?? Number.NaN));
  }
  keys.forEach((key, index) => {
    // Skip the minute account: its window may be exhausted, and no objective uses its charges.
    if (countsWindows && index === 0) return;
    const before = seeded.accounts[index]?.monthlyBefore ?? 0;
    cyclesCharged.add(before - monthlyOf(ask([get(`${base}/v1/account`, key)])[0]));
  });
  const deletions = all.map(({ url, key }) => ({ ...get(url, key), method: 'DELETE' }));
  ask(deletions, 'deleting');
}

function get(url: string, key: string): BatchRequest {
  const name = url.replace(/^[^/]*\/\/[^/]*/, '').replace(/inst_[0-9a-f]+/, ':id');
  return { method: 'GET', url, params: { headers: headersOf(key), tags: { name, part: 'setup' } } };
}

/**
 * Sends requests concurrently. Retries temporary refusals after `Retry-After`; throws on a
 * permanent refusal.
 */
function ask(requests: readonly BatchRequest[], what = ''): Response[] {
  const answers: Response[] = [];
  let saidMs = Date.now();
  for (let start = 0; start < requests.length; start += IN_FLIGHT) {
    answers.push(...askSome(requests.slice(start, start + IN_FLIGHT)));
    if (what === '' || Date.now() - saidMs < 2_000) continue;
    saidMs = Date.now();
    console.log(`load: ${what}, ${answers.length} of ${requests.length} instances`);
  }
  return answers;
}

function askSome(requests: readonly BatchRequest[]): Response[] {
  const answers: Response[] = [];
  let left = requests.map((request, index) => ({ request, index }));
  for (let attempt = 1; left.length > 0; attempt += 1) {
    const some = batch(left.map(({ request }) => request));
    const again: typeof left = [];
    some.forEach((answer, index) => {
      const asked = left[index];
      if (asked === undefined) return;
      if (answer.status === 0 || answer.status === 429 || answer.status === 503) again.push(asked);
      else if (answer.status >= 400) throw new Error(`${asked.request.url}: ${reasonOf(answer)}`);
      else answers[asked.index] = answer;
    });
    const [refused] = some.filter(({ status }) => status === 0 || status >= 400);
    if (refused !== undefined && attempt === ATTEMPTS_MAX) throw new Error(reasonOf(refused));
    if (again.length > 0) sleep(pauseAfter(some));
    left = again;
  }
  return answers;
}

/** Longest pause that the answers request, in seconds, within the minimum and the maximum. */
function pauseAfter(answers: readonly Response[]): number {
  const named = answers.map((answer) => wholeHeader(textOf(answer), 'Retry-After') ?? 0);
  return Math.min(PAUSE_S_MAX, Math.max(PAUSE_S, ...named));
}

function reasonOf({ status, body, error }: Response): string {
  return status === 0 ? `no answer (${error})` : `${status} ${(body ?? '').slice(0, 200)}`;
}
