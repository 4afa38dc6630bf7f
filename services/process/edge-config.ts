import type { Config } from '#config';
import type { EdgeConfig } from '#edge/compose';
import { systemRandomness } from '#platform/randomness';

/** Characters of a cluster secret that nobody configured: 190 bits. */
const SECRET_LENGTH = 32;

/**
 * The edge's part of the configuration. A secret that is not set holds for this process's life, which
 * is enough where the instances do not live longer either.
 */
export function edgeConfigOf(config: Config): EdgeConfig {
  return {
    host: config.SERVICE_HOST,
    port: config.SERVICE_PORT,
    isDocumented: config.SERVICE_DOCS_ENABLED,
    clusterSecrets: config.SERVICE_CLUSTER_SECRET ?? [systemRandomness.base62(SECRET_LENGTH)],
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    drainMs: config.SERVICE_DRAIN_SECONDS * 1_000,
  };
}
