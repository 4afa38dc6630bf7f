/**
 * Lag of the log of an account (`GET /v1/events`) under load: time from a change at the server until
 * a follower has the event. A run without `--quick` replaces the section "Log of transitions" in
 * bench/SCALE.md.
 *
 *   node bench/transitions.ts [--quick]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeRun } from '#bench/measures/machine';
import { numberText } from '#bench/measures/statistics';
import { startOnFile } from '#bench/processes/file-service';
import {
  type AdministeredService,
  startStandalone,
  startThreeProcesses,
} from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { keepSection, reportSection, SCALE_PAGE } from '#bench/report-page';
import { tableOf, verdict } from '#bench/report-table';
import { latenciesOf } from '#bench/scale/rates/latencies';

/** Observations of a fleet call, one instance each. */
const OBSERVATIONS = 1_000;

/** Maximum p99 of the lag, in milliseconds. Source: the project's target. */
const LAG_MS_MAX = 2_000;

/** Time between the observations of an instance that raise its stress, in seconds. */
const STRESSED_S = 5;

/** Time before the stress is raised again, in seconds. The stress falls meanwhile. */
const CALM_S = 7_200;

/** Observations of an instance in a period: some raise the stress, the last one is calm. */
const PERIOD = 4;

const TYPES =
  'created,renamed,reset,deleted,rolled_back,drift_changed,stress_changed,contract_changed';

const FULL = { instances: 20_000, seconds: 60 };
const QUICK = { instances: 2_000, seconds: 5 };

const startedMs = performance.now();

function print(line: string): void {
  const s = ((performance.now() - startedMs) / 1_000).toFixed(0);
  process.stderr.write(`${s.padStart(4)} s  ${line}\n`);
}

type Page = {
  readonly data: readonly { readonly occurred_at: string }[];
  readonly pagination: { readonly next_cursor: string; readonly has_more: boolean };
};

/** Calls of one account. */
class Account {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ address, key }: AdministeredService) {
    this.#url = `${address}/v1`;
    this.#headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  }

  /** Creates instances, 64 at a time. */
  async create(count: number): Promise<string[]> {
    const ids: string[] = [];
    const worker = async () => {
      while (ids.length < count) {
        const init = { method: 'POST', headers: this.#headers, body: '{"name":"a"}' };
        const answer = await fetch(`${this.#url}/instances`, init);
        ids.push(((await answer.json()) as { data: { id: string } }).data.id);
      }
    };
    await Promise.all(Array.from({ length: 64 }, worker));
    return ids;
  }

  /** Observes each instance once. Throws unless every observation was applied. */
  async observe(ids: readonly string[], second: number, isCalm: boolean): Promise<void> {
    const timestamp = new Date(second * 1_000).toISOString();
    const [mode_target, signal_strength] = isCalm ? ['CONNECTION', 0.5] : ['STRESS_RESPONSE', 1];
    const observations = ids.map((instance_id) => {
      return { instance_id, mode_target, signal_strength, timestamp };
    });
    const body = JSON.stringify({ observations });
    const init = { method: 'POST', headers: this.#headers, body };
    const answer = await fetch(`${this.#url}/process`, init);
    const { data } = (await answer.json()) as { data: { summary: { applied: number } } };
    if (data.summary.applied !== ids.length) throw new Error(JSON.stringify(data.summary));
  }

  async events(query: string): Promise<Page> {
    const url = `${this.#url}/events?types=${TYPES}&limit=1000&${query}`;
    const answer = await fetch(url, { headers: this.#headers });
    if (answer.status !== 200) throw new Error(await answer.text());
    return (await answer.json()) as Page;
  }
}

/** Sends observations until the time is over. Returns their number. */
async function load(account: Account, ids: readonly string[], seconds: number): Promise<number> {
  const endMs = performance.now() + seconds * 1_000;
  let second = Math.floor(Date.now() / 1_000) - 20_000_000;
  let sent = 0;
  for (let step = 0; performance.now() < endMs; step += 1) {
    const isCalm = step % PERIOD === PERIOD - 1;
    second += isCalm ? CALM_S : STRESSED_S;
    for (let at = 0; at < ids.length && performance.now() < endMs; at += OBSERVATIONS) {
      const part = ids.slice(at, at + OBSERVATIONS);
      await account.observe(part, second, isCalm);
      sent += part.length;
    }
  }
  return sent;
}

/** Follows the log until `isOver` and no event is left. Returns the lag of each event, in ms. */
async function follow(account: Account, cursor: string, isOver: () => boolean): Promise<number[]> {
  const lags: number[] = [];
  let after = cursor;
  for (;;) {
    const wasOver = isOver();
    const { data, pagination } = await account.events(`cursor=${after}&wait=1`);
    const nowMs = Date.now();
    for (const { occurred_at: at } of data) lags.push(nowMs - Date.parse(at));
    after = pagination.next_cursor;
    if (wasOver && data.length === 0 && !pagination.has_more) return lags;
  }
}

async function measured(
  name: string,
  service: AdministeredService,
  { instances, seconds }: typeof FULL,
): Promise<string[]> {
  const account = new Account(service);
  const ids = await account.create(instances);
  print(`${name}: ${instances} instances created`);
  const { pagination } = await account.events('start=newest');
  let isOver = false;
  const following = follow(account, pagination.next_cursor, () => isOver);
  const sent = await load(account, ids, seconds);
  isOver = true;
  const lags = await following;
  const { p50, p99, longest } = latenciesOf(lags);
  print(`${name}: ${sent} observations, ${lags.length} events, p99 ${p99} ms`);
  const rates = [numberText(sent / seconds, 0), numberText(lags.length / seconds, 0)];
  const times = [p50, p99, longest].map((ms) => numberText(ms, 0));
  return [name, ...rates, ...times, verdict(p99 <= LAG_MS_MAX)];
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const size = values.quick ? QUICK : FULL;
const circumstances = await describeRun({});
const rows: string[][] = [];
const topologies = [
  ['standalone in memory', () => startStandalone()],
  ['standalone on a SQLite file', () => startOnFile(join(temporaryFolder(), 'transitions.db'))],
  ['edge + limiter + engine in memory', () => startThreeProcesses()],
] as const;
for (const [name, start] of topologies) {
  await using service = await start();
  rows.push(await measured(name, service, size));
}
const table = tableOf(
  [
    ...['', 'observations a second', 'events a second'],
    ...['lag p50, ms', 'lag p99, ms', 'longest lag, ms', `p99 ≤ ${LAG_MS_MAX} ms`],
  ],
  rows,
);
const about =
  `Fleet calls of ${OBSERVATIONS} observations, one call after the other, observe ` +
  `${size.instances} instances of one account for ${size.seconds} s. Observations raise the stress ` +
  'of an instance three times and then let it fall, so that many change stress state, drift level ' +
  'or actions. One follower reads all types of events in pages with a long poll. The lag is the ' +
  'time from the commit of a change until the follower has its event. Load, follower and service ' +
  'share the machine.';
const command = 'node bench/transitions.ts';
const text = reportSection({ title: 'Log of transitions', about, command, circumstances }, [table]);
process.stdout.write(`${text}\n`);
if (!values.quick) await keepSection(SCALE_PAGE, text);
