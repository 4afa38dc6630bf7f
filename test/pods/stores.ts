import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { LOGBACK } from '#deploy/local/servers/cassandra-server';
import { cassandraYaml, localCassandraSettings } from '#deploy/local/servers/cassandra-settings';

/*
 * Settings of the stores' pods, made from the manifests for k8ssandra-operator and the NATS chart,
 * so that the pods have the settings of production.
 */

/** Folder of the manifests for the production stores. */
const STORES = 'deploy/kubernetes/stores';

/** Namespace of the stores. */
export const STORES_NAMESPACE = 'identity-engine-stores';

/** Certificate folders in the pods. */
const CASSANDRA_CERTIFICATES = '/etc/cassandra-certs';
const NATS_CERTIFICATES = '/etc/nats-certs';

/** Settings as ConfigMaps. */
export function storeSettings(): readonly object[] {
  return [configMap('cassandra', cassandraFiles()), configMap('nats', { 'nats.conf': natsConf() })];
}

function configMap(name: string, data: Readonly<Record<string, string>>): object {
  const metadata = { name, namespace: STORES_NAMESPACE };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

function cassandraFiles(): Readonly<Record<string, string>> {
  const { spec } = parse(readFileSync(`${STORES}/cassandra.yaml`, 'utf8'), { merge: true });
  const [dataCenter] = spec.cassandra.datacenters;
  const given = dataCenter.config.cassandraYaml;
  const keys = {
    ssl_context_factory: { class_name: 'org.apache.cassandra.security.PEMBasedSslContextFactory' },
    keystore: `${CASSANDRA_CERTIFICATES}/tls-combined.pem`,
    truststore: `${CASSANDRA_CERTIFICATES}/ca.crt`,
  };
  const seeds = `cassandra-seed-service.${STORES_NAMESPACE}.svc.cluster.local`;
  const seedProvider = 'org.apache.cassandra.locator.SimpleSeedProvider';
  const local = localCassandraSettings({ host: '', cql: 9_042, storage: 7_000, ring: undefined });
  const { listen_address: _, ...sizes } = local;
  return {
    'cassandra.yaml': cassandraYaml({
      ...sizes,
      ...given,
      listen_interface: 'eth0',
      // Also on loopback, for `kubectl port-forward`. The pod adds its address for drivers.
      rpc_address: '0.0.0.0',
      endpoint_snitch: 'GossipingPropertyFileSnitch',
      seed_provider: [{ class_name: seedProvider, parameters: [{ seeds }] }],
      client_encryption_options: { ...given.client_encryption_options, ...keys },
      server_encryption_options: { ...given.server_encryption_options, ...keys },
    }),
    'cassandra-rackdc.properties': `dc=${dataCenter.metadata.name}\nrack=a\n`,
    'logback.xml': LOGBACK,
  };
}

/** Configuration of a NATS server, as the chart makes it from its values. */
function natsConf(): string {
  const values = readFileSync(`${STORES}/nats-values.yaml`, 'utf8');
  const { config } = parse(values);
  const tls = {
    cert_file: `${NATS_CERTIFICATES}/tls.crt`,
    key_file: `${NATS_CERTIFICATES}/tls.key`,
    ca_file: `${NATS_CERTIFICATES}/ca.crt`,
  };
  const routes = [0, 1, 2].map((pod) => `tls://nats-${pod}.nats-headless:6222`);
  const conf = {
    port: 4_222,
    http_port: 8_222,
    tls: { ...tls, ...config.nats.tls.merge },
    cluster: { name: 'nats', port: 6_222, routes, tls: { ...tls, ...config.cluster.tls.merge } },
    ...config.merge,
  };
  // The chart inserts a text in these brackets without quotation marks: a reference to a variable.
  return JSON.stringify(conf, undefined, 1).replaceAll(/"<< (\$\w+) >>"/g, '$1');
}
