import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { productionFaults, type Role } from '#startup/production';
import { runMain } from '#test/support/process-run';

/** A random secret of 128 bits for this test. */
const SECRET = '9f2c71d04be8a35617c0d9e2f48ab365';

const STORES = {
  SERVICE_STORAGE: 'cassandra',
  SERVICE_CASSANDRA_TLS_FOLDER: '/certificates/cassandra',
  SERVICE_CASSANDRA_USERNAME: 'engine',
  SERVICE_CASSANDRA_PASSWORD: 'hush',
};
const BUS = {
  SERVICE_NATS_URL: 'nats://nats.internal:4222',
  SERVICE_NATS_TLS_FOLDER: '/certificates/nats',
  SERVICE_NATS_USERNAME: 'engine',
  SERVICE_NATS_PASSWORD: 'hush',
};
const WIRE = { SERVICE_TLS_FOLDER: '/certificates/own', SERVICE_CLUSTER_SECRET: SECRET };

/** Minimum variables of each role. */
const FIT: Record<Role, Record<string, string>> = {
  standalone: { ...STORES, SERVICE_CLUSTER_SECRET: SECRET },
  edge: { ...BUS, ...WIRE },
  engine: { ...STORES, ...BUS, ...WIRE, SERVICE_ENGINE_LISTEN: '0.0.0.0:8100' },
  limiter: { ...STORES, ...BUS, ...WIRE, SERVICE_LIMITER_LISTEN: '0.0.0.0:8200' },
  courier: { ...WIRE, SERVICE_COURIER_LISTEN: '0.0.0.0:8300' },
  console: {
    ...STORES,
    ...BUS,
    ...WIRE,
    SERVICE_CONSOLE_ORIGIN: 'https://console.example.com',
  },
  migrate: STORES,
  ctl: { ...STORES, ...BUS, ...WIRE },
};

const ROLES = Object.keys(FIT) as Role[];

/** The variable that each reported fault names first. */
function wrongOf(role: Role, variables: Record<string, string | undefined>, shows = false) {
  const faults = productionFaults(readConfig(variables), role, { showsCertificate: () => shows });
  return faults.map((fault) => /^SERVICE_[A-Z_]+/.exec(fault)?.[0]);
}

const fit = suite('a production configuration');

for (const role of ROLES) {
  fit(`with the minimum variables is accepted for ${role}`, () => {
    assert.equal(wrongOf(role, FIT[role]), []);
  });
}

// Report 14: overlays trusted 10.0.0.0/8 as proxies, so any pod could claim any client address.
fit('may trust wide proxy networks only if a second variable confirms them', () => {
  for (const [proxies, wide, wrong] of [
    ['192.0.2.7,10.1.2.0/24,2001:db8::/64', '', false],
    ['10.0.0.0/8', '', true],
    ['192.0.2.7,10.1.2.0/23', '10.0.0.0/8', true],
    ['2001:db8::/48', '', true],
    ['::ffff:10.0.0.0/104', '', true],
    ['10.1.2.3/8', '10.0.0.0/8', false],
  ] as const) {
    const variables = { SERVICE_TRUSTED_PROXIES: proxies, SERVICE_TRUSTED_WIDE_NETWORKS: wide };
    for (const role of ['edge', 'console', 'standalone'] as const) {
      const named = wrongOf(role, { ...FIT[role], ...variables });
      assert.equal(named, wrong ? ['SERVICE_TRUSTED_PROXIES'] : [], `${role} ${proxies} ${wide}`);
    }
  }
  for (const file of globSync('deploy/kubernetes/overlays/*/kustomization.yaml')) {
    const trusted = /SERVICE_TRUSTED_PROXIES=(\S*)/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
    assert.equal(wrongOf('edge', { ...FIT.edge, SERVICE_TRUSTED_PROXIES: trusted }), [], file);
  }
});

fit('may use certificates instead of passwords', () => {
  const { SERVICE_CASSANDRA_PASSWORD: _, SERVICE_NATS_USERNAME: __, ...shown } = FIT.engine;
  assert.equal(wrongOf('engine', shown, true), []);
  const missing = ['SERVICE_CASSANDRA_USERNAME', 'SERVICE_NATS_USERNAME'];
  assert.equal(wrongOf('engine', shown, false), missing);
});

fit('may use plain text between processes on one machine', () => {
  const { SERVICE_TLS_FOLDER: _, ...edge } = FIT.edge;
  assert.equal(wrongOf('edge', { ...edge, SERVICE_NATS_URL: 'nats://127.0.0.1:4222' }), []);
  const { SERVICE_TLS_FOLDER: __, SERVICE_NATS_URL: ___, ...engine } = FIT.engine;
  for (const listen of ['127.0.0.1:8100', '[::1]:8100', 'localhost:8100']) {
    assert.equal(wrongOf('engine', { ...engine, SERVICE_ENGINE_LISTEN: listen }), []);
  }
});

fit('may have two secrets during a rotation', () => {
  const both = `${SECRET},${SECRET.split('').reverse().join('')}`;
  assert.equal(wrongOf('edge', { ...FIT.edge, SERVICE_CLUSTER_SECRET: both }), []);
  const half = `${SECRET},for-this-machine-only`;
  const weak = wrongOf('edge', { ...FIT.edge, SERVICE_CLUSTER_SECRET: half });
  assert.equal(weak, ['SERVICE_CLUSTER_SECRET']);
});

const unfit = suite('production rejects');

for (const [what, roles, changed, expected] of [
  [
    'in-memory storage',
    ['standalone', 'engine', 'limiter'],
    { SERVICE_STORAGE: 'memory' },
    'SERVICE_STORAGE',
  ],
  [
    'the API documentation',
    ['standalone', 'edge'],
    { SERVICE_DOCS_ENABLED: 'true' },
    'SERVICE_DOCS_ENABLED',
  ],
  [
    'a billing provider without payments',
    ['limiter', 'standalone'],
    { SERVICE_BILLING_PROVIDER: 'local' },
    'SERVICE_BILLING_PROVIDER',
  ],
  ['the local account', ['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' }, 'SERVICE_LOCAL_ACCOUNT'],
  [
    'Cassandra in plain text',
    ['standalone', 'engine', 'limiter', 'console', 'migrate', 'ctl'],
    { SERVICE_CASSANDRA_TLS_FOLDER: undefined },
    'SERVICE_CASSANDRA_TLS_FOLDER',
  ],
  [
    'Cassandra without a password',
    ['standalone', 'engine', 'limiter', 'console', 'migrate', 'ctl'],
    { SERVICE_CASSANDRA_PASSWORD: undefined },
    'SERVICE_CASSANDRA_USERNAME',
  ],
  [
    'NATS in plain text',
    ['edge', 'engine', 'limiter', 'console', 'ctl'],
    { SERVICE_NATS_TLS_FOLDER: undefined },
    'SERVICE_NATS_TLS_FOLDER',
  ],
  [
    'NATS without a user',
    ['edge', 'engine', 'limiter', 'console', 'ctl'],
    { SERVICE_NATS_USERNAME: undefined },
    'SERVICE_NATS_USERNAME',
  ],
  [
    'plain text to nodes on other machines',
    ['edge', 'engine', 'limiter', 'console', 'ctl'],
    { SERVICE_TLS_FOLDER: undefined },
    'SERVICE_TLS_FOLDER',
  ],
  [
    'a missing cluster secret',
    ['standalone', 'edge', 'engine', 'limiter', 'console', 'ctl'],
    { SERVICE_CLUSTER_SECRET: undefined },
    undefined,
  ],
] as const) {
  for (const role of roles) {
    unfit(`${what} for ${role}`, () => {
      const wrong = wrongOf(role, { ...FIT[role], ...changed });
      assert.equal(wrong, [expected ?? 'SERVICE_CLUSTER_SECRET']);
    });
  }
}

for (const [role, address] of [
  ['engine', { SERVICE_ENGINE_LISTEN: '0.0.0.0:8100' }],
  ['engine', { SERVICE_ENGINE_LISTEN: '[::]:8100' }],
  ['engine', { SERVICE_ENGINE_ADVERTISE: 'engine.internal:8100' }],
  ['limiter', { SERVICE_LIMITER_LISTEN: '10.1.2.3:8200' }],
  ['limiter', { SERVICE_LIMITER_ADVERTISE: '10.1.2.3:8200' }],
  ['edge', { SERVICE_ENGINE_ADDRESS: 'engine.internal:8100' }],
  ['edge', { SERVICE_LIMITER_ADDRESS: '127.0.0.1.example:8200' }],
] as const) {
  unfit(`plain text outside loopback for ${role} with ${JSON.stringify(address)}`, () => {
    const secret = { SERVICE_CLUSTER_SECRET: SECRET };
    const alone = role === 'edge' ? secret : { ...STORES, ...secret };
    assert.equal(wrongOf(role, alone), []);
    assert.equal(wrongOf(role, { ...alone, ...address }), ['SERVICE_TLS_FOLDER']);
    assert.equal(wrongOf(role, { ...alone, ...address, ...WIRE }), []);
  });
}

for (const [secret, why] of [
  [SECRET.slice(1), 'of 31 characters'],
  ['a'.repeat(64), 'of one letter'],
  ['abcdefabcdefabcdefabcdefabcdefabcdef', 'of six letters'],
  ['0123456789abcdef0123456789abcdef', 'with a repetition'],
] as const) {
  unfit(`a secret ${why}`, () => {
    const wrong = wrongOf('edge', { ...FIT.edge, SERVICE_CLUSTER_SECRET: secret });
    assert.equal(wrong, ['SERVICE_CLUSTER_SECRET']);
  });
}

unfit('every public secret of this repository', () => {
  const files = globSync(
    '{README.md,docs/**/*.md,deploy/**/*,bench/**/*.ts,loadtest/**/*,test/**/*.ts}',
  );
  const written = /CLUSTER_SECRET(?::-|['"]?[:=] ?)['"]?([^'"$}\n]{16,})/g;
  const secrets = files.flatMap((file) => {
    if (file.endsWith('production.test.ts') || !/\.(md|ts|yaml)$/.test(file)) return [];
    return [...readFileSync(file, 'utf8').matchAll(written)].map(([, secret = '']) => secret);
  });
  assert.ok(secrets.length > 5, 'the search finds secrets');
  for (const SERVICE_CLUSTER_SECRET of secrets) {
    const wrong = wrongOf('edge', { ...FIT.edge, SERVICE_CLUSTER_SECRET });
    assert.equal(wrong, ['SERVICE_CLUSTER_SECRET'], SERVICE_CLUSTER_SECRET);
  }
});

const started = suite('a process that production rejects');

/** Several unsafe settings together. */
const CARELESS = {
  SERVICE_ENVIRONMENT: 'production',
  SERVICE_STORAGE: 'memory',
  SERVICE_DOCS_ENABLED: 'true',
  SERVICE_LOCAL_ACCOUNT: 'true',
  SERVICE_ENGINE_LISTEN: '0.0.0.0:0',
  SERVICE_LIMITER_LISTEN: '0.0.0.0:0',
  SERVICE_NATS_URL: 'nats://192.0.2.1:4222',
  SERVICE_CLUSTER_SECRET: 'for-this-machine-only',
};

for (const [argv, named] of [
  [['standalone'], ['STORAGE', 'DOCS_ENABLED', 'LOCAL_ACCOUNT', 'CLUSTER_SECRET']],
  [['edge'], ['DOCS_ENABLED', 'TLS_FOLDER', 'NATS_TLS_FOLDER', 'NATS_USERNAME', 'CLUSTER_SECRET']],
  [['engine'], ['STORAGE', 'TLS_FOLDER', 'NATS_TLS_FOLDER', 'NATS_USERNAME', 'CLUSTER_SECRET']],
  [['limiter'], ['STORAGE', 'TLS_FOLDER', 'NATS_TLS_FOLDER', 'NATS_USERNAME', 'CLUSTER_SECRET']],
  [['migrate'], ['CASSANDRA_TLS_FOLDER', 'CASSANDRA_USERNAME']],
  [
    ['ctl', 'nodes'],
    ['CASSANDRA_TLS_FOLDER', 'CASSANDRA_USERNAME', 'TLS_FOLDER', 'NATS_TLS_FOLDER'],
  ],
] as const) {
  started(`(${argv.join(' ')}) exits with one line that names all errors`, async () => {
    const run = runMain(argv, CARELESS);
    assert.is(await run.ended, 1, run.stderr());
    assert.is(run.stdout(), '');
    assert.match(run.stderr(), /^[^\n]*SERVICE_ENVIRONMENT=production [^\n]+\n$/);
    for (const name of named) assert.match(run.stderr(), new RegExp(`[ ;]SERVICE_${name}\\b`));
  });
}

for (const group of [fit, unfit, started]) group.run();
