import { STEP_S } from '#bench/load/observation-plan';
import { at } from '#bench/load/process-answer';
import { problemOf } from '#bench/load/proof';
import { Child, environment } from '#bench/processes/child';
import type { Server } from '#bench/processes/servers';

/** An open-model run: requests start at a fixed rate, independent of answers. */
export type OpenRun = {
  readonly requestsPerS: number;
  readonly seconds: number;
  /** Load before the measured seconds. */
  readonly warmUpS: number;
};

/** Latencies of an open-model run; void if `problem` is set. */
export type OpenResult = {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly problem: string | undefined;
};

/** k6's name for the latencies of the measured phase in open-model.k6.ts. */
const LATENCY = 'http_req_duration{phase:measured}';

/**
 * Runs k6 once against `server`. The result is void if an answer was wrong or an iteration was
 * dropped.
 */
export async function runOpenModel(k6: string, server: Server, run: OpenRun): Promise<OpenResult> {
  let metrics: unknown;
  let problem = '';
  const proof = await problemOf(server, async () => {
    metrics = await send(k6, server, run);
    const answered = figureOf(metrics, 'http_reqs', 'count');
    const failed = figureOf(metrics, 'http_req_failed', 'passes');
    const dropped = figureOf(metrics, 'dropped_iterations', 'count');
    if (failed > 0) problem = `${failed} non-2xx`;
    if (dropped > 0) problem = `${dropped} requests could not be started in time`;
    server.plan.use(answered + dropped);
    return { answered, unanswered: 0 };
  });
  return {
    p50Ms: figureOf(metrics, LATENCY, 'p(50)'),
    p99Ms: figureOf(metrics, LATENCY, 'p(99)'),
    p999Ms: figureOf(metrics, LATENCY, 'p(99.9)'),
    problem: problem === '' ? proof : problem,
  };
}

async function send(k6: string, server: Server, run: OpenRun): Promise<unknown> {
  const { plan } = server;
  plan.beginTurn();
  await using child = new Child({
    name: 'k6',
    program: k6,
    args: ['run', '--quiet', '--no-usage-report', 'bench/latency/open-model.k6.ts'],
    env: environment({
      ADDRESS: server.address,
      KEY: plan.key,
      INSTANCES: plan.file,
      FIRST_S: `${plan.nextS}`,
      STEP_S: `${STEP_S}`,
      RATE: `${run.requestsPerS}`,
      SECONDS: `${run.seconds}`,
      WARM_UP_S: `${run.warmUpS}`,
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
