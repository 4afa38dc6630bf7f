import { type Config, ConfigError } from '#config';

/**
 * The secrets of the cluster, the one that signs and names first. Throws `ConfigError` without one:
 * a process that others reach over NATS, or an edge of its own, cannot do without.
 */
export function clusterSecretsOf({ SERVICE_CLUSTER_SECRET: secrets }: Config): readonly string[] {
  if (secrets !== undefined) return secrets;
  throw new ConfigError(
    'SERVICE_CLUSTER_SECRET: an edge of its own, and every process on NATS, needs it, the same in every process',
  );
}
