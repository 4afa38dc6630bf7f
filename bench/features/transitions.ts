import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberText } from '#bench/measures/statistics';
import { atMost, type Part, type Run } from '#bench/page/part';
import { fileVariables, startOnFile } from '#bench/processes/file-service';
import {
  type AdministeredService,
  MAIN,
  startStandalone,
  startThreeProcesses,
} from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { latenciesOf } from '#bench/scale/rates/latencies';

/** Observations in a fleet call, one for each instance. */
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
  'created,renamed,reset,deleted,rolled_back,drift_changed,stress_changed,' +
  'contract_changed,mode_changed';

/** Pace of the load for a webhook endpoint. It makes more than the 5,000 events/s of the target. */
const PACED_PER_S = 4_000;

/** Maximum number of changes in a message to a webhook endpoint. */
const MAX_BATCH = 100;

/** Number of instances of a large account. */
const MANY = 1_000_000;

/** Instances that go through a period together, before the next instances do. */
const BLOCK = 20_000;

const FULL = { instances: 20_000, seconds: 60 };
const QUICK = { instances: 2_000, seconds: 2 };

type Events = readonly { readonly occurred_at: string }[];

type Page = {
  readonly data: Events;
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
    let left = count;
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        ids.push((await this.ask('/instances', { name: 'a' })).id);
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

  /** Sends a request without a special answer. Throws unless the status is 2xx. */
  async ask(path: string, body?: object) {
    const init = { method: body === undefined ? 'GET' : 'POST', headers: this.#headers };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.#url}${path}`, { ...init, ...given });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as { data: { id: string; changes_behind: number } }).data;
  }

  async events(query: string): Promise<Page> {
    const url = `${this.#url}/events?types=${TYPES}&limit=1000&${query}`;
    const answer = await fetch(url, { headers: this.#headers });
    if (answer.status !== 200) throw new Error(await answer.text());
    return (await answer.json()) as Page;
  }
}

/** Sends observations until the time is over, at most `perS` in a second. Returns their number. */
async function load(
  account: Account,
  ids: readonly string[],
  seconds: number,
  perS: number,
): Promise<number> {
  const beginMs = performance.now();
  const endMs = beginMs + seconds * 1_000;
  let second = Math.floor(Date.now() / 1_000) - 20_000_000;
  let sent = 0;
  for (let step = 0; performance.now() < endMs; step += 1) {
    const isCalm = step % PERIOD === PERIOD - 1;
    second += isCalm ? CALM_S : STRESSED_S;
    const start = (Math.floor(step / PERIOD) * BLOCK) % ids.length;
    const block = ids.slice(start, start + BLOCK);
    for (let at = 0; at < block.length && performance.now() < endMs; at += OBSERVATIONS) {
      const part = block.slice(at, at + OBSERVATIONS);
      await account.observe(part, second, isCalm);
      sent += part.length;
      await sleep(Math.max(0, beginMs + (1_000 * sent) / perS - performance.now()));
    }
  }
  return sent;
}

/** Something that gets events. `end` waits for the last event, and returns the lags in ms. */
type Follower = { readonly end: () => Promise<number[]> };

/** Reads pages of the log, one after the other. */
async function followPages(account: Account): Promise<Follower> {
  let after = (await account.events('start=newest')).pagination.next_cursor;
  let isOver = false;
  const lags: number[] = [];
  const following = (async () => {
    for (;;) {
      const wasOver = isOver;
      const { data, pagination } = await account.events(`cursor=${after}&wait=1`);
      note(data, lags);
      after = pagination.next_cursor;
      if (wasOver && data.length === 0 && !pagination.has_more) return lags;
    }
  })();
  return {
    end: () => {
      isOver = true;
      return following;
    },
  };
}

/** Gets messages at a webhook endpoint. */
async function followWebhook(account: Account): Promise<Follower> {
  const lags: number[] = [];
  const server = createServer(async (request, response) => {
    const { data } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    note(data, lags);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const settings = { url, event_types: TYPES.split(','), max_batch: MAX_BATCH };
  const { id } = await account.ask('/webhooks', settings);
  return {
    async end() {
      while ((await account.ask(`/webhooks/${id}`)).changes_behind > 0) await sleep(100);
      server.close();
      server.closeAllConnections();
      return lags;
    },
  };
}

/** Adds the lags of events that have just arrived. */
function note(events: Events, lags: number[]): void {
  const nowMs = Date.now();
  for (const { occurred_at: at } of events) lags.push(nowMs - Date.parse(at));
}

type Load = Pick<Run, 'print'> & {
  readonly name: string;
  readonly follow: (account: Account) => Promise<Follower>;
  /** Maximum number of observations in a second. */
  readonly perS: number;
};

type Row = { readonly name: string; readonly cells: readonly number[] };

async function measured(
  { name, follow, perS, print }: Load,
  service: AdministeredService,
  { instances, seconds }: typeof FULL,
): Promise<Row> {
  const account = new Account(service);
  const ids = await account.create(instances);
  print(`${name}: ${instances} instances created`);
  const follower = await follow(account);
  const sent = await load(account, ids, seconds, perS);
  const lags = await follower.end();
  const { p50, p99, longest } = latenciesOf(lags);
  print(`${name}: ${sent} observations, ${lags.length} events, p99 ${p99} ms`);
  return { name, cells: [sent / seconds, lags.length / seconds, p50, p99, longest] };
}

async function measuredAll({ isQuick, print }: Run): Promise<Row[]> {
  const size = isQuick ? QUICK : FULL;
  const rows: Row[] = [];
  const topologies = [
    ['standalone in memory', () => startStandalone()],
    ['standalone on a SQLite file', () => startOnFile(join(temporaryFolder(), 'transitions.db'))],
    ['edge + limiter + engine in memory', () => startThreeProcesses()],
  ] as const;
  const fast = { follow: followPages, perS: Number.POSITIVE_INFINITY, print };
  for (const [name, start] of topologies) {
    await using service = await start();
    rows.push(await measured({ name, ...fast }, service, size));
  }
  if (!isQuick) {
    await using service = await startStandalone();
    const name = `standalone in memory, ${numberText(MANY, 0)} instances`;
    rows.push(await measured({ name, ...fast }, service, { ...size, instances: MANY }));
  }
  const networks = { SERVICE_WEBHOOK_NETWORKS: '127.0.0.0/8' };
  const onFile = fileVariables(join(temporaryFolder(), 'webhooks.db'));
  for (const [name, variables] of [
    ['webhook, standalone in memory', networks],
    ['webhook, standalone on a SQLite file', { ...onFile, ...networks }],
  ] as const) {
    await using service = await startStandalone([], MAIN, variables);
    rows.push(
      await measured({ name, follow: followWebhook, perS: PACED_PER_S, print }, service, size),
    );
  }
  return rows;
}

/** Index of the p99 in the cells of a row. */
const P99_CELL = 3;

/** Lag of the log of an account under load: time from a change until a follower has its event. */
export const transitions: Part = {
  name: 'transitions',
  group: 'features',
  isLong: true,
  title: 'Log of transitions',
  about:
    `Fleet calls of ${OBSERVATIONS} observations, one call after the other, observe ` +
    `${FULL.instances} instances of one account for ${FULL.seconds} s, unless the row has a ` +
    'number. Observations raise the stress of an instance three times and then let it fall, so that ' +
    'many change stress state, drift level or actions. One follower reads all types of events in ' +
    'pages with a long poll, or is a webhook endpoint with up to ' +
    `${MAX_BATCH} changes in a message and ${PACED_PER_S} observations a second. The lag is the ` +
    'time from the commit of a change until the follower has its event.',
  async measure(run) {
    const rows = await measuredAll(run);
    const columns = ['observations/s', 'events/s', 'lag p50 ms', 'lag p99 ms', 'longest lag ms'];
    return {
      figures: rows.map(({ name, cells }) =>
        atMost(`p99 of the lag, ${name}`, cells[P99_CELL] ?? Number.NaN, LAG_MS_MAX, 'ms'),
      ),
      tables: [{ name: '', columns: columns.map((column) => ({ name: column })), rows }],
    };
  },
};
