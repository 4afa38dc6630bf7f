import { readConfig } from '#config';
import type { LocalCluster } from '#deploy/local/local-cluster';
import { openStores } from '#startup/ports';
import { foundationOf } from '#startup/process/dependencies';

/** Opens the stores of a local cluster, for checks. */
export async function openClusterStores({ plan }: LocalCluster) {
  const config = readConfig({ ...plan.shared, SERVICE_LOG_LEVEL: 'silent' });
  const stores = await openStores(config, foundationOf(config, 'chaos'));
  if (stores.kind !== 'shared') throw new Error('a cluster must have shared stores, not one file');
  return stores;
}
