/*
 * The plan of a run: files that only `make test-all` runs, files that need their own process, files
 * that may skip, and time budgets.
 *
 * A name that ends with a slash is a folder; any other name is the path of a file. A regular
 * expression matches the text of a file.
 */

export type FileName = string | RegExp;

/** Part of a run. `make test` runs the part `test`; `make test-all` runs all parts. */
export type PartName = 'test' | (typeof LATER)[number]['name'];

/** Files that `make test` runs although `LATER` matches them. */
export const SOONER: readonly FileName[] = [
  'test/console/pages/audit.test.ts',
  'test/console/pages/sign-in.test.ts',
  'test/console/pages/keys.test.ts',
  'test/console/pages/members.test.ts',
  'test/startup/admin-token.test.ts',
  'test/startup/code-cache.test.ts',
  'test/startup/secret-files.test.ts',
  'test/startup/telemetry/tracing-files.test.ts',
  'test/startup/variables.test.ts',
  'test/startup/production.test.ts',
  'test/startup/readiness.test.ts',
  'test/startup/cluster/watched-certificates.test.ts',
];

/** Parts that only `make test-all` runs. A file belongs to the first part that matches. */
export const LATER = [
  {
    name: 'kills',
    files: [
      'test/clients/crash.test.ts',
      'test/chaos/chaos.test.ts',
      'test/power-loss/',
      'test/restore/',
      'test/upgrade/upgrade.test.ts',
      'test/upgrade/next-schema.test.ts',
    ],
  },
  { name: 'simulations', files: [/\btestVariants\(/, 'test/simulation/many-seeds.test.ts'] },
  { name: 'browsers', files: [/\b(browserSuite|chromiumSuite|launchChromium)\(/] },
  {
    name: 'tools',
    files: [
      /\b(k6OrSkip|jaegerOrSkip|stripeMockOrSkip|prometheusOrSkip)\(/,
      /\bHAProxy\b.*apt-get/,
      'test/bench/quick-run.test.ts',
      'test/fuzz/schemathesis.test.ts',
      'test/identity/node-releases.test.ts',
      'test/deploy/local/balancer.test.ts',
      'test/deploy/local/local-cluster.test.ts',
      'test/deploy/other-architecture.test.ts',
      'test/deploy/root-file-system.test.ts',
    ],
  },
  {
    name: 'clients',
    files: [
      'clients/mcp/test/',
      'clients/typescript/test/framework-packages.test.ts',
      'clients/typescript/test/package.test.ts',
      'test/bench/fidelity/quick-run.test.ts',
      'test/clients/generators.test.ts',
      'test/console/pages/instance/connect-samples.test.ts',
      'test/clients/python-adapters.test.ts',
      'test/clients/python-documents.test.ts',
      'test/clients/python-framework-examples.test.ts',
      'test/clients/python-package.test.ts',
    ],
  },
  { name: 'kubernetes', files: ['test/kubernetes/', 'test/pods/'] },
  {
    name: 'processes',
    files: [
      'test/startup/',
      'test/ctl/cluster-processes.test.ts',
      'test/ctl/on-a-file.test.ts',
      'test/edge/connections/slow-readers.test.ts',
      'test/edge/connections/unfinished-bodies.test.ts',
      'test/engine/instance/held-bytes.test.ts',
      'test/storage/cassandra/rotation.test.ts',
    ],
  },
] as const satisfies readonly { readonly name: string; readonly files: readonly FileName[] }[];

/** Files of `test/api` that depend on the store. `make test` runs them on every store. */
export const ON_EVERY_STORE: readonly FileName[] = [
  'events/list-events',
  'account/get-account',
  'account/get-audit',
  'account/notify-billing',
  'attacks/races',
  'instances/create-instance',
  'instances/delete-instance',
  'instances/fork-instance',
  'instances/generations',
  'instances/filter-instances',
  'instances/get-instance',
  'instances/instance-limit',
  'instances/list-cursors',
  'instances/list-instances',
  'instances/reset-instance',
  'instances/tags',
  'instances/update-instance',
  'observations/agent-day',
  'observations/batch-is-sequence',
  'observations/batch-keys',
  'observations/idempotency',
  'observations/idempotency-keys',
  'observations/keep-context',
  'observations/process-batch',
  'observations/process-observation',
  'reads/conditional-requests',
  'reads/get-drift',
  'reads/get-history',
  'reads/get-states',
  'reads/stream-events',
  'reads/submit-test',
].map((name) => `test/api/${name}.test.ts`);

/** Files that run in their own process, with the reason. */
export const ALONE: readonly { readonly why: string; readonly files: readonly FileName[] }[] = [
  { why: 'measures the live heap after full garbage collections', files: [/\blive(Heap)?Bytes\(/] },
  {
    why: 'needs a service with other settings on the store',
    files: ['test/api/account/notify-billing.test.ts'],
  },
];

/**
 * Files of further parts that mostly wait, or that install the same packages. They run one at a
 * time beside the other files.
 */
export const IDLE: readonly FileName[] = [
  'clients/mcp/test/',
  'test/edge/connections/slow-readers.test.ts',
  'test/startup/cluster/account-deletion.test.ts',
  'test/startup/cluster/account-move.test.ts',
  'test/startup/cluster/cluster-secret.test.ts',
  'test/startup/cluster/history-retention.test.ts',
];

/** Files that take 10 s or longer. They start first, so that the run does not end with one file. */
export const LONG: readonly FileName[] = [
  /\blive(Heap)?Bytes\(/,
  /\btestVariants\(/,
  'clients/typescript/test/framework-packages.test.ts',
  'clients/typescript/test/package.test.ts',
  'test/api/observations/agent-day.test.ts',
  'test/api/attacks/resources.test.ts',
  'test/api/attacks/shutdown.test.ts',
  'test/api/observations/batch-is-sequence.test.ts',
  'test/bench/quick-run.test.ts',
  'test/bus/nats-bus.test.ts',
  'test/chaos/',
  'test/clients/crash.test.ts',
  'test/clients/python-adapters.test.ts',
  'test/clients/python-cases.test.ts',
  'test/clients/python-documents.test.ts',
  'test/clients/python-framework-examples.test.ts',
  'test/clients/python.test.ts',
  'test/console/pages/accessibility.test.ts',
  'test/console/pages/cluster.test.ts',
  'test/console/usage.test.ts',
  'test/ctl/cluster-commands.test.ts',
  'test/ctl/cluster-processes.test.ts',
  'test/ctl/accounts/delete-command.test.ts',
  'test/ctl/export/import-resumed.test.ts',
  'test/ctl/mixed-cluster.test.ts',
  'test/ctl/on-a-file.test.ts',
  'test/ctl/verify/retention-apply.test.ts',
  'test/ctl/verify/trimmed-instances.test.ts',
  'test/edge/connections/slow-readers.test.ts',
  'test/edge/connections/unfinished-bodies.test.ts',
  'test/limiter/meter/crash-properties.test.ts',
  'test/cluster-status/cluster-watch.test.ts',
  'test/telemetry/otlp-tracer.test.ts',
  'test/pods/',
  'test/power-loss/',
  'test/startup/cluster/history-retention.test.ts',
  'test/startup/cluster/limiter-exact.test.ts',
  'test/startup/cluster/rotated-certificates.test.ts',
  'test/restore/',
  'test/simulation/many-seeds.test.ts',
  'test/simulation/simulation.test.ts',
  'test/storage/cassandra/migrate.test.ts',
  'test/storage/cassandra/people-stores.test.ts',
  'test/storage/cassandra/rotation.test.ts',
  'test/storage/cassandra/session.test.ts',
  'test/storage/sqlite/instance-store.test.ts',
  'test/upgrade/upgrade.test.ts',
  'test/grpc/wire-roles.test.ts',
];

/** Allowed skips: the reason that a file prints, and the files that may skip for that reason. */
export const MAY_SKIP: readonly { readonly lack: RegExp; readonly files: readonly FileName[] }[] = [
  { lack: /^there is no Cassandra: /, files: [/\bcassandraOrSkip\(/, 'test/api/'] },
  { lack: /^there is no NATS: /, files: [/\bnatsOrSkip\(/] },
  { lack: /^there is no Python 3\.1[01] /, files: ['test/clients/'] },
  { lack: /^there are no generators: /, files: ['test/clients/generators.test.ts'] },
  { lack: /^no Chromium was found /, files: [/\b(browserSuite|launchChromium)\(/] },
  { lack: /^there is no k6: /, files: [/\bk6OrSkip\(/] },
  { lack: /^wrk is not installed: /, files: ['test/bench/quick-run.test.ts'] },
  { lack: /^there is no Jaeger: /, files: [/\bjaegerOrSkip\(/] },
  { lack: /^there is no stripe-mock: /, files: [/\bstripeMockOrSkip\(/] },
  { lack: /^there is no promtool: /, files: [/\bprometheusOrSkip\(/] },
  { lack: /^there is no HAProxy /, files: [/\bHAProxy\b.*apt-get/] },
  { lack: /^gcc is not installed /, files: [/\bpreloadLack\(/] },
  { lack: /^kustomize v[\d.]+ needs Go: /, files: ['test/kubernetes/'] },
  { lack: /^there are no nodes for pods: /, files: ['test/pods/'] },
  {
    lack: /^no process name space could be made: root may/,
    files: ['test/startup/start-signals.test.ts'],
  },
  { lack: /^no disk could be mounted: root may/, files: ['test/startup/file/full-disk.test.ts'] },
  {
    lack: /^no file can be made immutable: root may/,
    files: ['test/startup/file/read-only-file.test.ts'],
  },
  { lack: /^there is no emulation: /, files: ['test/deploy/other-architecture.test.ts'] },
  { lack: /^no other root here: /, files: ['test/deploy/root-file-system.test.ts'] },
];

/**
 * Time budgets in minutes on two cores, for a folder of `make test` or for a further part. About
 * 1.5 times the last run.
 */
export const BUDGETS: Readonly<Record<string, number>> = {
  browsers: 16,
  clients: 10,
  kills: 16,
  kubernetes: 22,
  processes: 28,
  simulations: 6,
  tools: 8,
  'clients/typescript': 1.5,
  'test/api': 7,
  'test/bus': 1,
  'test/clients': 4,
  'test/console': 1.5,
  'test/ctl': 6,
  'test/edge': 1.5,
  'test/engine': 1.5,
  'test/limiter': 1,
  'test/stdlib': 1,
  'test/telemetry': 1.5,
  'test/startup': 2,
  'test/storage': 7,
};
