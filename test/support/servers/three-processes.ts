import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';
import type { Service } from '#test/support/servers/service';

/** Edge, engine and limiter, with their metrics URLs in this order. */
export type ThreeProcesses = {
  readonly service: Service;
  readonly metricsUrls: readonly string[];
};

/**
 * Starts the three processes with stores in memory and gRPC streams between them. Each process is
 * killed after `msMax` milliseconds.
 */
export async function startThreeProcesses(msMax?: number): Promise<ThreeProcesses> {
  const [limiter, engine] = [runMain(['limiter'], {}, msMax), runMain(['engine'], {}, msMax)];
  await Promise.all([limiter.says(/ready/), engine.says(/ready/)]);
  const edge = runMain(
    ['edge'],
    {
      SERVICE_CLUSTER_SECRET: 'the secret of this test',
      SERVICE_LIMITER_ADDRESS: addressIn(limiter, 'grpc'),
      SERVICE_ENGINE_ADDRESS: addressIn(engine, 'grpc'),
    },
    msMax,
  );
  await edge.says(/ready/);
  const runs: readonly ProcessRun[] = [edge, engine, limiter];
  const api = addressIn(edge, 'api');
  const metricsUrls = runs.map((run) => addressIn(run, 'metrics'));
  const service: Service = {
    origin: new URL(api).origin,
    api,
    metricsUrl: metricsUrls[0] ?? '',
    adminUrl: addressIn(limiter, 'admin'),
    processes: new Map(),
    log: () => runs.map((run) => run.stderr()).join(''),
    async [Symbol.asyncDispose]() {
      for (const { child, ended } of runs) {
        child.kill('SIGTERM');
        await ended;
      }
    },
  };
  return { service, metricsUrls };
}
