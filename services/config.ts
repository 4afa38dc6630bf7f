import { isIP } from 'node:net';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { secretsInFiles } from '#stdlib/files';
import {
  address,
  BILLING_VARIABLES,
  CONSOLE_VARIABLES,
  collector,
  filled,
  flag,
  headers,
  hostNames,
  isNameless,
  list,
  meantVariables,
  networks,
  OTEL_VARIABLES,
  port,
  retentionDays,
  SECRET_LINES_MAX,
  type SecretVariable,
  whole,
} from '#stdlib/variables';
import { assertExporterFiles } from '#telemetry/exporter-files';

const NAMELESS = 'user and password go into SERVICE_NATS_USERNAME and SERVICE_NATS_PASSWORD';

const secretFile = (secret: SecretVariable) =>
  filled.optional().describe(`File that holds \`${secret}\`, instead of that variable.`);

/**
 * Environment variables of all processes: meaning, default and bounds. The generator of
 * `docs/configuration.md` reads this table.
 */
const VARIABLES = {
  SERVICE_HOST: filled.default('127.0.0.1').describe('Address the API listens on.'),
  SERVICE_PORT: port.default(8_000).describe('Port of the API; 0 takes a free one.'),
  SERVICE_DOCS_ENABLED: flag
    .default(false)
    .describe('Serves /docs, /redoc and /openapi.json. Off in production (interface 1.6).'),
  SERVICE_METRICS_HOST: filled
    .default('127.0.0.1')
    .describe('Address the port of metrics and probes listens on.'),
  SERVICE_METRICS_PORT: port
    .default(9_464)
    .describe('Port for /metrics, /health/live and /health/ready; 0 takes a free one.'),
  SERVICE_METRICS_NAMES: hostNames.describe(
    'Comma-separated host names by which the port of metrics and probes is called, besides its addresses and names without a dot. None if empty.',
  ),
  SERVICE_ADMIN_PORT: port
    .default(8_001)
    .describe('Loopback-only port that `ctl` talks to; 0 takes a free one.'),
  SERVICE_CONTROL_PORT: port
    .optional()
    .describe(
      'Loopback-only port of an edge, an engine or a console for `ctl process`; 0 takes a free one. Left out: no port. Limiters and standalone processes answer at SERVICE_ADMIN_PORT.',
    ),
  SERVICE_ADMIN_URL: z
    .url({ protocol: /^http$/ })
    .default('http://127.0.0.1:8001')
    .describe('Where `ctl` finds the admin port.'),
  SERVICE_ADMIN_TOKEN_FILE: filled
    .optional()
    .describe(
      'File of the token that the admin port asks for, for the service and for `ctl`. Left out: the service makes one at start, and `ctl` of the same user finds it.',
    ),
  ...CONSOLE_VARIABLES,
  SERVICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severe level that is logged; `debug` adds a line for every request.'),
  SERVICE_OTLP_ENDPOINT: collector.describe(
    'Where a collector takes traces by OTLP over HTTP, as http://127.0.0.1:4318; `/v1/traces` is added. Left out: nothing is traced.',
  ),
  SERVICE_OTLP_HEADERS: headers
    .optional()
    .describe(
      'Headers that the collector asks for, as `authorization=Bearer …`; several with commas between.',
    ),
  SERVICE_OTLP_HEADERS_FILE: secretFile('SERVICE_OTLP_HEADERS'),
  SERVICE_TRACE_RATIO: z
    .string()
    .regex(/^(?:0(?:\.\d{1,6})?|1)$/, 'must be a number from 0 to 1')
    .default('0.01')
    .transform(Number)
    .describe(
      'Share of the requests that are traced, unless their callers say in `traceparent` whether they are: 0.01 is one in a hundred.',
    ),
  ...OTEL_VARIABLES,
  SERVICE_STORAGE: z
    .enum(['memory', 'sqlite', 'cassandra'])
    .default('memory')
    .describe(
      'Where data is kept. `memory` forgets everything at a restart (interface 1.8); `sqlite` is a file of one standalone process; `cassandra` is shared by a cluster.',
    ),
  SERVICE_SQLITE_FILE: filled
    .optional()
    .describe(
      'The file of `sqlite`; it and its folder are made for this user alone. Left out: `~/.local/state/identity-engine/identity-engine.db`.',
    ),
  SERVICE_ENVIRONMENT: z
    .enum(['development', 'production'])
    .default('development')
    .describe(
      '`production` refuses settings that lose data, let others listen in or can be guessed (docs/configuration.md).',
    ),
  SERVICE_CASSANDRA_CONTACT_POINTS: list(address)
    .default(['127.0.0.1:9042'])
    .describe(
      'Comma-separated host:port of some Cassandra nodes; the others are found through them.',
    ),
  SERVICE_CASSANDRA_DATACENTER: filled
    .default('datacenter1')
    .describe('Name of the Cassandra data center that is near.'),
  SERVICE_CASSANDRA_KEYSPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,47}$/, 'must be lower-case letters, digits and underscores')
    .default('identity_engine')
    .describe('Keyspace of the tables; `main.ts migrate` makes it.'),
  SERVICE_CASSANDRA_REPLICATION_FACTOR: whole
    .pipe(z.number().min(1).max(9))
    .default(1)
    .describe('Copies that a new keyspace keeps of everything: 1 locally, 3 in production.'),
  SERVICE_CASSANDRA_USERNAME: filled.optional().describe('User at Cassandra, if it asks.'),
  SERVICE_CASSANDRA_PASSWORD: filled.optional().describe('Its password.'),
  SERVICE_CASSANDRA_PASSWORD_FILE: secretFile('SERVICE_CASSANDRA_PASSWORD'),
  SERVICE_CASSANDRA_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder of ca.crt, and of tls.crt and tls.key if Cassandra asks who calls: TLS to Cassandra. Plain text if left out.',
    ),
  SERVICE_CASSANDRA_TLS_NAME: filled
    .refine((name) => isIP(name) === 0, 'must be a DNS name')
    .optional()
    .describe(
      'DNS name in the certificates of all Cassandra nodes; if left out, they must name the addresses.',
    ),
  SERVICE_NATS_URL: list(
    z.url({ protocol: /^nats$/, error: 'must be nats://host:port' }).refine(isNameless, NAMELESS),
  )
    .optional()
    .describe(
      'Comma-separated NATS servers through which edges, limiters and engines find each other. None: fixed addresses.',
    ),
  SERVICE_NATS_USERNAME: filled.optional().describe('User at NATS, if it asks.'),
  SERVICE_NATS_PASSWORD: filled.optional().describe('Its password.'),
  SERVICE_NATS_PASSWORD_FILE: secretFile('SERVICE_NATS_PASSWORD'),
  SERVICE_NATS_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder of ca.crt, and of tls.crt and tls.key if NATS asks who calls: TLS to NATS from the first byte (`handshake_first` there). Plain text if left out.',
    ),
  SERVICE_NATS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,60}$/, 'must be letters, digits, - and _')
    .default('identity-engine')
    .describe('First part of all subjects on NATS; another for every cluster that shares it.'),
  SERVICE_SHARDS: whole
    .pipe(z.number().min(1).max(4_096))
    .default(256)
    .describe(
      'Shards that the engines of a new cluster share, and as many its limiters: 10 to 40 for each it may ever have. Fixed when it is made.',
    ),
  SERVICE_NODE_NAME: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,200}$/, 'must be letters, digits and . _ : -')
    .optional()
    .describe(
      'Stable name of an engine or a limiter, which places it in its cluster; its address if left out.',
    ),
  SERVICE_ENGINE_ADVERTISE: address
    .optional()
    .describe('host:port at which others reach an engine; where it listens if left out.'),
  SERVICE_LIMITER_ADVERTISE: address
    .optional()
    .describe('host:port at which others reach a limiter; where it listens if left out.'),
  SERVICE_NODE_DIRECT: flag
    .default(true)
    .describe(
      'Whether engines, and limiters, reach each other without proxy, NAT or a firewall that refuses instead of dropping: then a refused connection proves one dead.',
    ),
  SERVICE_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder of ca.crt, tls.crt and tls.key, as cert-manager writes them, for the DNS name `edge.`, `engine.`, `limiter.`, `console.` or `ctl.identity-engine` by what the process is: all then speak mutual TLS. Plain text if left out.',
    ),
  SERVICE_LOCAL_ACCOUNT: flag
    .default(false)
    .describe(
      'Standalone makes the enterprise account `local` unless the store has it, and prints its key where it was made.',
    ),
  SERVICE_ENGINE_LISTEN: address
    .default('127.0.0.1:8100')
    .describe('gRPC address an engine process listens on.'),
  SERVICE_LIMITER_LISTEN: address
    .default('127.0.0.1:8200')
    .describe('gRPC address a limiter process listens on.'),
  SERVICE_ENGINE_ADDRESS: address
    .default('127.0.0.1:8100')
    .describe('Where an edge process without NATS finds the engine.'),
  SERVICE_LIMITER_ADDRESS: address
    .default('127.0.0.1:8200')
    .describe('Where an edge process without NATS finds the limiter.'),
  SERVICE_LIMITER_TIMEOUT_MS: whole
    .pipe(z.number().min(10).max(5_000))
    .default(100)
    .describe(
      'Milliseconds an edge waits for the limiter before it fails closed; a limiter drops older admissions.',
    ),
  SERVICE_CLUSTER_SECRET: list(z.string().min(16, 'must have at least 16 characters'))
    .refine((secrets) => secrets.length <= 2, 'must be one secret, or two with a comma between')
    .optional()
    .describe(
      'Signs what processes say over NATS and names the instances of keyed creates: the same for every edge, engine, limiter and `ctl` of a cluster. Two with a comma between while it is changed, or on two lines of its file: the first signs, both are believed.',
    ),
  SERVICE_CLUSTER_SECRET_FILE: secretFile('SERVICE_CLUSTER_SECRET'),
  SERVICE_TRUSTED_PROXIES: networks.describe(
    'Comma-separated CIDRs whose X-Forwarded-For is believed, with ports or without. None if empty.',
  ),
  SERVICE_TRUSTED_WIDE_NETWORKS: networks.describe(
    'Networks of SERVICE_TRUSTED_PROXIES that are wider than /24 (IPv6: /64), named again to be taken in production: every address in them may claim to be any caller.',
  ),
  SERVICE_DRAIN_SECONDS: whole
    .pipe(z.number().max(10))
    .default(5)
    .describe(
      'Most seconds a stopping edge still serves, closing each connection behind its answer. Standalone: 0.',
    ),
  SERVICE_RETENTION_DAYS: retentionDays.describe(
    'Days that plans keep history and drift, as `free=30,pro=365`, for `ctl retention apply`; for ever, where a plan is left out.',
  ),
  SERVICE_ACTOR_IDLE_S: whole
    .pipe(z.number().min(30))
    .default(900)
    .describe('Seconds after which an unused actor leaves memory.'),
  SERVICE_ACTOR_MEMORY_MIB: whole
    .pipe(z.number().min(1))
    .default(1_024)
    .describe('MiB that idle actors of one kind may hold; the least recently used leave first.'),
  ...BILLING_VARIABLES,
} as const;

const Environment = z.object(VARIABLES);

/** The configuration of a process, read once at its start. */
export type Config = z.infer<typeof Environment>;

/** A row of the configuration table. */
export type Variable = {
  readonly name: string;
  readonly fallback: string;
  readonly meaning: string;
};

/** An invalid configuration. The message is one line for a terminal. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Throws `ConfigError` if a variable configures a storage that `SERVICE_STORAGE` does not select.
 *
 * Otherwise a forgotten `SERVICE_STORAGE` would keep data in memory without a warning.
 */
export function assertStorageNamed(
  config: Config,
  environment: NodeJS.ProcessEnv = process.env,
): void {
  const places = { SERVICE_SQLITE_FILE: 'sqlite', SERVICE_CASSANDRA_CONTACT_POINTS: 'cassandra' };
  const { SERVICE_STORAGE: storage } = config;
  for (const [name, wanted] of Object.entries(places)) {
    const isOther = name === 'SERVICE_SQLITE_FILE' ? storage !== wanted : storage === 'memory';
    if (environment[name] === undefined || !isOther) continue;
    throw new ConfigError(
      `${name}: needs SERVICE_STORAGE=${wanted}; with ${storage} data is not kept there`,
    );
  }
}

/**
 * Reads the environment and the files that it names.
 *
 * Throws `ConfigError` for a value out of bounds, an unusable file, and an unknown `SERVICE_`
 * variable.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const unknown = Object.keys(environment).find(
    (name) => name.startsWith('SERVICE_') && !(name in VARIABLES),
  );
  if (unknown !== undefined)
    throw new ConfigError(`${unknown}: no such variable${meantBy(unknown)}`);
  const secrets = checkedFiles(environment);
  const parsed = Environment.safeParse({ ...meantVariables(environment), ...secrets });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  // For an error within a list, name only the variable, so that operators find it.
  const variable = String(issue?.path[0]);
  const file = variable in secrets ? `_FILE: ${environment[`${variable}_FILE`]}` : '';
  throw new ConfigError(`${variable}${file}: ${issue?.message}`);
}

/** Maximum edit distance of a suggested variable name. More errors rarely mean the same name. */
const TYPING_ERRORS_MAX = 4;

/** Suggestion for a misspelt variable name, as a question; empty if no name is similar. */
function meantBy(name: string): string {
  const meant = closest(name, Object.keys(VARIABLES));
  return distance(name, meant) <= TYPING_ERRORS_MAX ? ` (did you mean ${meant}?)` : '';
}

function checkedFiles(environment: NodeJS.ProcessEnv): Record<string, string> {
  try {
    assertExporterFiles(environment);
    return secretsInFiles(environment, SECRET_LINES_MAX);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/** Parses the text of a secret. Throws an error that does not quote the text. */
export function secretOfText<Name extends SecretVariable>(
  variable: Name,
  text: string,
): NonNullable<Config[Name]> {
  const parsed = VARIABLES[variable].safeParse(text);
  if (parsed.success && parsed.data !== undefined) return parsed.data as never;
  throw new Error(parsed.error?.issues[0]?.message);
}

/** All variables in the order of their declaration. */
export function describeVariables(): Variable[] {
  return Object.entries(VARIABLES).map(([name, schema]) => {
    const { data = '' } = schema.safeParse(undefined);
    return { name, fallback: String(data), meaning: schema.description ?? '' };
  });
}
