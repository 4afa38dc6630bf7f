import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '#config';
import { freePort } from '#deploy/local/servers/free-port';
import { startServer } from '#deploy/local/servers/local-server';
import { reached } from '#deploy/local/servers/reached';
import { openStores } from '#startup/ports';
import { foundationOf } from '#startup/process/dependencies';
import type { CheckedStores } from '#test/chaos/checks/stores';
import type { PodCluster } from '#test/pods/cluster';
import { NAMESPACE } from '#test/pods/installation';
import { partFolder } from '#test/pods/machine';
import { STORES_NAMESPACE } from '#test/pods/stores';

/** Maximum time until the forwarded port is open, in ms. */
const FORWARD_MS_MAX = 30_000;

/** Name in the certificate of Cassandra. */
const CERTIFICATE_NAME = 'cassandra.identity-engine-stores.svc';

/**
 * Opens the stores of the installed service through `kubectl port-forward`, because the network
 * policies admit no other connection from this machine.
 */
export async function openForwardedStores({
  objects,
  kubeconfig,
  kubectlProgram,
}: PodCluster): Promise<CheckedStores & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const port = await freePort();
  const target = ['-n', STORES_NAMESPACE, 'port-forward', 'pod/cassandra-0', `${port}:9042`];
  const folder = partFolder('forward');
  const address = { host: '127.0.0.1', port };
  const forward = await startServer(
    { folder: join(folder, 'kubectl'), logFolder: folder },
    {
      name: 'kubectl',
      program: kubectlProgram,
      args: [`--kubeconfig=${kubeconfig}`, ...target],
      address: `${address.host}:${port}`,
      readyMsMax: FORWARD_MS_MAX,
      ask: () => reached(address),
    },
  );
  opening.use(forward);
  const text = async (...args: readonly string[]) =>
    Buffer.from(await objects.kubectl(['-n', NAMESPACE, 'get', ...args]), 'base64').toString();
  const password = await text('secret/cassandra-password', '--output=jsonpath={.data.password}');
  const trust = ['configmap/authority-of-stores', '--output=jsonpath={.data.ca\\.crt}'];
  await writeFile(
    join(folder, 'ca.crt'),
    await objects.kubectl(['-n', NAMESPACE, 'get', ...trust]),
  );
  const config = readConfig({
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: `127.0.0.1:${port}`,
    SERVICE_CASSANDRA_DATACENTER: 'dc1',
    SERVICE_CASSANDRA_USERNAME: 'identity_engine',
    SERVICE_CASSANDRA_PASSWORD: password,
    SERVICE_CASSANDRA_TLS_FOLDER: folder,
    SERVICE_CASSANDRA_TLS_NAME: CERTIFICATE_NAME,
    SERVICE_LOG_LEVEL: 'silent',
  });
  const stores = opening.use(await openStores(config, foundationOf(config, 'pods')));
  if (stores.kind !== 'shared') throw new Error('the service must have shared stores');
  const opened = opening.move();
  return { ...stores, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
