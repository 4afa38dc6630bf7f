import type { Config } from '#config';
import { systemClock } from '#platform/clock';
import { createLogger } from '#platform/logger';
import { createMetrics } from '#platform/metrics';
import { serveOps } from '#platform/ops-server';
import { systemRandomness } from '#platform/randomness';
import type { ActorHostConfig } from '#runtime/host-ports';

/** What every process has, whatever it serves. */
export type Foundation = Awaited<ReturnType<typeof lay>>;

/** Clock, randomness, logger and metrics of a process, and the bounds of its actors. */
export function lay(config: Config, service: string) {
  const logger = createLogger(config.SERVICE_LOG_LEVEL, service);
  const actors: ActorHostConfig = {
    idleAgeMs: config.SERVICE_ACTOR_IDLE_S * 1_000,
    memoryBytesMax: config.SERVICE_ACTOR_MEMORY_MIB * 1_024 * 1_024,
  };
  const onBug = (error: unknown) => logger.error({ err: error }, 'bug');
  const metrics = createMetrics();
  return { logger, actors, onBug, metrics, clock: systemClock, randomness: systemRandomness };
}

/** The operators' port. Ready as soon as it is opened, which is last; not ready while it closes. */
export async function serveOperators(config: Config, { metrics }: Foundation) {
  let isReady = true;
  const { SERVICE_HOST: host, SERVICE_METRICS_PORT: port } = config;
  const server = await serveOps({ host, port, metrics, isReady: () => isReady });
  return {
    address: server.address,
    [Symbol.asyncDispose]() {
      isReady = false;
      return server[Symbol.asyncDispose]();
    },
  };
}
