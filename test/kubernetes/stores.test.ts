import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '#config';
import { NEEDED_SETTINGS, SAFE_REPLICATION } from '#storage/cassandra/server-settings';

const STORES = 'deploy/kubernetes/stores';
const LOCAL = 'deploy/kubernetes/overlays/local';
const read = (path: string) => readFileSync(path, 'utf8');

/** Variables that component operated-stores sets for every process. */
const given = Object.fromEntries(
  (
    parse(read('deploy/kubernetes/components/operated-stores/kustomization.yaml')) as {
      configMapGenerator: { literals: string[] }[];
    }
  ).configMapGenerator.flatMap(({ literals }) => literals.map((pair) => pair.split('='))),
) as Record<string, string>;

type User = {
  readonly user: string;
  readonly permissions: { readonly publish: unknown; readonly subscribe: readonly string[] };
};

/** Users and permissions in a NATS configuration. */
function usersIn(conf: string): readonly User[] {
  return [...conf.matchAll(/user: (\w+), password: \$\w+([\s\S]*?)\n {6}}/g)].map(
    ([, user = '', text = '']) => {
      const listOf = (name: string) => {
        const list = new RegExp(`${name}: \\[([\\s\\S]*?)\\]`).exec(text)?.[1];
        return list === undefined
          ? undefined
          : [...list.matchAll(/"(.*?)"/g)].map(([, each = '']) => each);
      };
      const publish = listOf('publish') ?? { deny: '>' };
      return { user, permissions: { publish, subscribe: listOf('subscribe') ?? [] } };
    },
  );
}

const cassandra = suite('Cassandra in the manifests');
const { spec } = parse(read(`${STORES}/cassandra.yaml`), { merge: true });
const [dataCenter] = spec.cassandra.datacenters;

cassandra('has the settings that every process requires', () => {
  for (const [name, { value }] of Object.entries(NEEDED_SETTINGS)) {
    assert.is(dataCenter.config.cassandraYaml[name], value, name);
  }
  assert.is(
    dataCenter.config.cassandraYaml.commitlog_sync_period,
    '0ms',
    'batch sync has no period',
  );
  assert.ok(dataCenter.size >= SAFE_REPLICATION);
  assert.is(dataCenter.racks.length, SAFE_REPLICATION);
});

cassandra('has the configured address, and the configured name in its certificates', () => {
  const config = readConfig(given);
  assert.is(config.SERVICE_CASSANDRA_DATACENTER, dataCenter.metadata.name);
  assert.is(config.SERVICE_CASSANDRA_REPLICATION_FACTOR, SAFE_REPLICATION);
  const { name, namespace } = parse(read(`${STORES}/cassandra.yaml`)).metadata;
  const service = `${name}-${dataCenter.metadata.name}-service.${namespace}.svc:9042`;
  assert.equal(config.SERVICE_CASSANDRA_CONTACT_POINTS, [service]);
  assert.ok(namesIn('cassandra').includes(config.SERVICE_CASSANDRA_TLS_NAME ?? ''));
});

cassandra('requires passwords, and encrypts traffic between nodes', () => {
  const settings = dataCenter.config.cassandraYaml;
  assert.is(spec.auth, true);
  assert.is(settings.authenticator, 'PasswordAuthenticator');
  assert.equal(settings.client_encryption_options, { enabled: true, optional: false });
  assert.equal(settings.server_encryption_options, { internode_encryption: 'all' });
});

/** DNS names in a store's certificate. */
function namesIn(certificate: string): readonly string[] {
  const all = parseAllDocuments(read(`${STORES}/certificates.yaml`)).map((each) => each.toJS());
  return all.find(({ kind, metadata }) => kind === 'Certificate' && metadata.name === certificate)
    .spec.dnsNames;
}

const nats = suite('NATS in the manifests');
const values = parse(read(`${STORES}/nats-values.yaml`));

nats('grants each role exactly the permissions in docs/cluster.md', () => {
  const documented = usersIn(read('docs/cluster.md'));
  const users = documented.map(({ user }) => user).toSorted();
  assert.equal(users, ['console', 'ctl', 'edge', 'engine', 'limiter']);
  const granted = values.config.merge.authorization.users.map(({ user, permissions }: User) => {
    return { user, permissions };
  });
  assert.equal(granted, documented);
  assert.equal(usersIn(read(`${LOCAL}/nats.conf`)), documented);
});

nats('has the configured address, and starts with a TLS handshake', () => {
  const config = readConfig(given);
  const [url = ''] = config.SERVICE_NATS_URL ?? [];
  assert.ok(namesIn('nats').includes(new URL(url).hostname));
  assert.is(values.config.nats.tls.enabled, true);
  assert.is(values.config.nats.tls.merge.handshake_first, true);
  assert.ok(values.config.cluster.replicas >= 3);
});

for (const each of [cassandra, nats]) each.run();
