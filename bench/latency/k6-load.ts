import { STEP_S } from '#bench/load/observation-plan';
import { at } from '#bench/load/process-answer';
import { problemOf } from '#bench/load/proof';
import { Child, environment } from '#bench/processes/child';
import type { Server } from '#bench/processes/servers';

/**
 * Load of k6. Closed: each user waits for an answer, then sends the next request. Open: requests
 * start at a fixed rate, independent of answers.
 */
export type K6Load =
  | { readonly kind: 'closed'; readonly users: number; readonly seconds: number }
  | {
      readonly kind: 'open';
      readonly requestsPerS: number;
      readonly seconds: number;
      /** Load before the measured seconds. */
      readonly warmUpS: number;
    };

/** Rate and latencies of a load; void if `problem` is set. */
export type K6Result = {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly problem: string | undefined;
};

/**
 * Maximum number of requests in flight in an open load. Beyond this number, k6 drops iterations,
 * which voids the row. With 1,500, k6 itself needs so much CPU that it starts fewer requests.
 */
const IN_FLIGHT_MAX = 300;

/**
 * Growth of k6's memory between garbage collections, in %. With Go's default of 100, k6 starts a
 * third fewer requests, and most of a p99 is the time of its collections.
 */
const GARBAGE_PERCENT = '800';

/** Script that k6 runs. */
const SCRIPT = 'bench/latency/observe.k6.ts';

/** k6's name for the latencies of the measured phase in observe.k6.ts. */
const LATENCY = 'http_req_duration{phase:measured}';

/**
 * Runs k6 once against `server`. The result is void if an answer was wrong or an iteration was
 * dropped.
 */
export async function runK6(k6: string, server: Server, load: K6Load): Promise<K6Result> {
  let metrics: unknown;
  let answered = 0;
  let problem = '';
  const proof = await problemOf(server, async () => {
    metrics = await send(k6, server, load);
    answered = figureOf(metrics, 'http_reqs', 'count');
    const failed = figureOf(metrics, 'http_req_failed', 'passes');
    const dropped = figureOf(metrics, 'dropped_iterations', 'count');
    if (dropped > 0) problem = `${dropped} requests could not be started in time`;
    server.plan.use(answered + dropped);
    return { answered, refused: failed, unanswered: 0 };
  });
  return {
    requestsPerS: answered / (load.seconds + warmUpOf(load)),
    p50Ms: figureOf(metrics, LATENCY, 'p(50)'),
    p99Ms: figureOf(metrics, LATENCY, 'p(99)'),
    p999Ms: figureOf(metrics, LATENCY, 'p(99.9)'),
    problem: problem === '' ? proof?.text : problem,
  };
}

function warmUpOf(load: K6Load): number {
  return load.kind === 'open' ? load.warmUpS : 0;
}

async function send(k6: string, server: Server, load: K6Load): Promise<unknown> {
  const { plan } = server;
  plan.beginTurn();
  await using child = new Child({
    name: 'k6',
    program: k6,
    // Each tag of a metric costs k6 CPU, which the server lacks.
    args: [...['run', '--quiet', '--no-usage-report', '--system-tags', 'status'], SCRIPT],
    env: environment({
      GOGC: GARBAGE_PERCENT,
      ADDRESS: server.address,
      KEY: plan.key,
      INSTANCES: plan.file,
      FIRST_S: `${plan.nextS}`,
      STEP_S: `${STEP_S}`,
      RATE: `${load.kind === 'open' ? load.requestsPerS : 0}`,
      USERS: `${load.kind === 'closed' ? load.users : IN_FLIGHT_MAX}`,
      SECONDS: `${load.seconds}`,
      WARM_UP_S: `${warmUpOf(load)}`,
    }),
  });
  await child.ended();
  const json = /^RESULT (.*)$/m.exec(child.output)?.[1];
  if (json === undefined) throw new Error(`k6 printed no result:\n${child.output.trim()}`);
  return JSON.parse(json);
}

/** A value from k6's summary. The summary omits counters that are 0. */
function figureOf(metrics: unknown, metric: string, statistic: string): number {
  const value = at(metrics, [metric, 'values', statistic]);
  return typeof value === 'number' ? value : 0;
}
