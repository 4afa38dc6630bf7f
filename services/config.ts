import { isIP } from 'node:net';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { readContent, secretsInFiles } from '#stdlib/files';
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
  namesCollector,
  networks,
  OTEL_VARIABLES,
  port,
  retentionDays,
  SECRET_LINES_MAX,
  type SecretVariable,
  whole,
} from '#stdlib/variables';

const NAMELESS = 'user and password go into SERVICE_NATS_USERNAME and SERVICE_NATS_PASSWORD';

const secretFile = (secret: SecretVariable) =>
  filled.optional().describe(`File that holds \`${secret}\`, instead of that variable.`);

/**
 * Environment variables for all processes: meaning, default and bounds. The tables of billing,
 * console and OpenTelemetry are in `stdlib/variables`. `docs/configuration.md` is generated from
 * this table.
 */
const VARIABLES = {
  SERVICE_HOST: filled.default('127.0.0.1').describe('Address on which the API listens.'),
  SERVICE_PORT: port.default(8_000).describe('Port of the API; 0 picks a free port.'),
  SERVICE_DOCS_ENABLED: flag
    .default(false)
    .describe('Serves /docs, /redoc and /openapi.json. Off in production (interface 1.6).'),
  SERVICE_METRICS_HOST: filled
    .default('127.0.0.1')
    .describe('Listen address of the port for metrics and probes.'),
  SERVICE_METRICS_PORT: port
    .default(9_464)
    .describe('Port for /metrics, /health/live and /health/ready; 0 picks a free port.'),
  SERVICE_METRICS_NAMES: hostNames.describe(
    'Comma-separated host names that the port for metrics and probes accepts in `Host`. The port always accepts its addresses and names without a dot.',
  ),
  SERVICE_ADMIN_PORT: port
    .default(8_001)
    .describe('Port for `ctl`, on loopback only; 0 picks a free port.'),
  SERVICE_CONTROL_PORT: port
    .optional()
    .describe(
      'Port of an edge, engine or console for `ctl process`, on loopback only; 0 picks a free port. Unset: no port. Limiters and standalone processes use SERVICE_ADMIN_PORT.',
    ),
  SERVICE_ADMIN_URL: z
    .url({ protocol: /^http$/ })
    .default('http://127.0.0.1:8001')
    .describe('URL of the admin port, for `ctl`.'),
  SERVICE_ADMIN_TOKEN_FILE: filled
    .optional()
    .describe(
      'File with the token of the admin port, for the service and for `ctl`. Unset: the service creates a token file, and `ctl` of the same user finds this file.',
    ),
  ...CONSOLE_VARIABLES,
  SERVICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severe level that is logged; `debug` adds a line for every request.'),
  SERVICE_OTLP_ENDPOINT: collector.describe(
    'Address of the OTLP collector over HTTP, such as http://127.0.0.1:4318; `/v1/traces` is appended. Unset: no tracing.',
  ),
  SERVICE_OTLP_HEADERS: headers
    .optional()
    .describe('Headers for the collector, such as `authorization=Bearer …`, separated by commas.'),
  SERVICE_OTLP_HEADERS_FILE: secretFile('SERVICE_OTLP_HEADERS'),
  SERVICE_TRACE_RATIO: z
    .string()
    .regex(/^(?:0(?:\.\d{1,6})?|1)$/, 'must be a number from 0 to 1')
    .default('0.01')
    .transform(Number)
    .describe(
      'Share of requests to trace; 0.01 is one in a hundred. A `traceparent` of the caller overrides the share.',
    ),
  ...OTEL_VARIABLES,
  SERVICE_STORAGE: z
    .enum(['memory', 'sqlite', 'cassandra'])
    .default('memory')
    .describe(
      'Storage of all data. `memory` loses all data at a restart (interface 1.8). `sqlite` is a file of one standalone process. `cassandra` is for a cluster.',
    ),
  SERVICE_SQLITE_FILE: filled
    .optional()
    .describe(
      'Database file of `sqlite`. Only this user can read the file and its folder. Default: `~/.local/state/identity-engine/identity-engine.db`.',
    ),
  SERVICE_ENVIRONMENT: z
    .enum(['development', 'production'])
    .default('development')
    .describe(
      '`production` refuses settings that lose data, send plain text or are guessable (docs/configuration.md).',
    ),
  SERVICE_CASSANDRA_CONTACT_POINTS: list(address)
    .default(['127.0.0.1:9042'])
    .describe(
      'Comma-separated host:port of some Cassandra nodes. The service discovers the other nodes.',
    ),
  SERVICE_CASSANDRA_DATACENTER: filled
    .default('datacenter1')
    .describe('Name of the local Cassandra data center.'),
  SERVICE_CASSANDRA_KEYSPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,47}$/, 'must be lower-case letters, digits and underscores')
    .default('identity_engine')
    .describe('Keyspace of the tables; `main.ts migrate` creates the keyspace.'),
  SERVICE_CASSANDRA_REPLICATION_FACTOR: whole
    .pipe(z.number().min(1).max(9))
    .default(1)
    .describe('Replication factor of a new keyspace: 1 locally, 3 in production.'),
  SERVICE_CASSANDRA_USERNAME: filled.optional().describe('Cassandra user, for authentication.'),
  SERVICE_CASSANDRA_PASSWORD: filled.optional().describe('Password of the Cassandra user.'),
  SERVICE_CASSANDRA_PASSWORD_FILE: secretFile('SERVICE_CASSANDRA_PASSWORD'),
  SERVICE_CASSANDRA_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder with ca.crt, and with tls.crt and tls.key if Cassandra requires client certificates. If set, connections to Cassandra use TLS; otherwise plain text.',
    ),
  SERVICE_CASSANDRA_TLS_NAME: filled
    .refine((name) => isIP(name) === 0, 'must be a DNS name')
    .optional()
    .describe(
      'DNS name in the certificates of all Cassandra nodes. Unset: each certificate must contain the address of its node.',
    ),
  SERVICE_NATS_URL: list(
    z.url({ protocol: /^nats$/, error: 'must be nats://host:port' }).refine(isNameless, NAMELESS),
  )
    .optional()
    .describe(
      'Comma-separated NATS servers through which the processes of a cluster find each other. Unset: fixed addresses.',
    ),
  SERVICE_NATS_USERNAME: filled.optional().describe('NATS user, for authentication.'),
  SERVICE_NATS_PASSWORD: filled.optional().describe('Password of the NATS user.'),
  SERVICE_NATS_PASSWORD_FILE: secretFile('SERVICE_NATS_PASSWORD'),
  SERVICE_NATS_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder with ca.crt, and with tls.crt and tls.key if NATS requires client certificates. If set, connections to NATS use TLS from the first byte (set `handshake_first` on the NATS server); otherwise plain text.',
    ),
  SERVICE_NATS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,60}$/, 'must be letters, digits, - and _')
    .default('identity-engine')
    .describe(
      'Prefix of all NATS subjects. Clusters that share a NATS server need different prefixes.',
    ),
  SERVICE_SHARDS: whole
    .pipe(z.number().min(1).max(4_096))
    .default(256)
    .describe(
      'Number of engine shards and of limiter shards of a new cluster. Use 10 to 40 per engine of the largest size that you expect. Cannot be changed later.',
    ),
  SERVICE_NODE_NAME: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,200}$/, 'must be letters, digits and . _ : -')
    .optional()
    .describe(
      'Stable name of an engine or a limiter. The name determines which shards the node gets. Default: its address.',
    ),
  SERVICE_ENGINE_ADVERTISE: address
    .optional()
    .describe('host:port at which other processes reach an engine. Default: its listen address.'),
  SERVICE_LIMITER_ADVERTISE: address
    .optional()
    .describe('host:port at which other processes reach a limiter. Default: its listen address.'),
  SERVICE_NODE_DIRECT: flag
    .default(true)
    .describe(
      '`true`: nodes recognize a crash by the end of an open connection. Nodes notice a proxy that changes the address of a caller, and then prove no crash. Set `false` if another proxy is between nodes, or if the advertised address of a node can lead to another node.',
    ),
  SERVICE_TLS_FOLDER: filled
    .optional()
    .describe(
      'Folder with ca.crt, tls.crt and tls.key, as cert-manager writes them. The certificate names the process: `edge.`, `engine.`, `limiter.`, `courier.`, `console.` or `ctl.identity-engine`. If set, all processes use mutual TLS; otherwise plain text.',
    ),
  SERVICE_LOCAL_ACCOUNT: flag
    .default(false)
    .describe(
      'A standalone process creates the enterprise account `local` if it is missing, and prints its key.',
    ),
  SERVICE_ENGINE_LISTEN: address
    .default('127.0.0.1:8100')
    .describe('gRPC listen address of an engine process.'),
  SERVICE_LIMITER_LISTEN: address
    .default('127.0.0.1:8200')
    .describe('gRPC listen address of a limiter process.'),
  SERVICE_ENGINE_ADDRESS: address
    .default('127.0.0.1:8100')
    .describe('Address of the engine for an edge without NATS.'),
  SERVICE_LIMITER_ADDRESS: address
    .default('127.0.0.1:8200')
    .describe('Address of the limiter for an edge without NATS.'),
  SERVICE_COURIER_LISTEN: address
    .default('127.0.0.1:8300')
    .describe('gRPC listen address of a courier process.'),
  SERVICE_COURIER_ADDRESSES: list(address)
    .default(['127.0.0.1:8300'])
    .describe(
      'Comma-separated addresses of the couriers, for an engine process. A message goes to one of them.',
    ),
  SERVICE_WEBHOOK_NETWORKS: networks.describe(
    'Comma-separated CIDRs of your own networks to which customers may also send webhooks, with http:// or https:// and on any port. Set the same value on edges, consoles and couriers. Empty: only public addresses, with https:// on port 443.',
  ),
  SERVICE_LIMITER_TIMEOUT_MS: whole
    .pipe(z.number().min(10).max(5_000))
    .default(100)
    .describe(
      'Milliseconds that an edge waits for the limiter. After this time, the edge refuses the call with 503. A limiter drops an admission request that has waited longer.',
    ),
  SERVICE_CLUSTER_SECRET: list(z.string().min(16, 'must have at least 16 characters'))
    .refine((secrets) => secrets.length <= 2, 'must be one secret, or two separated by a comma')
    .optional()
    .describe(
      'Secret that signs NATS messages and derives the ids of creates with an `Idempotency-Key`. Every edge, engine, limiter, courier, console and `ctl` of a cluster needs the same secret. For a rotation, give two secrets, separated by a comma or on two lines of the file. The first secret signs, both secrets verify.',
    ),
  SERVICE_CLUSTER_SECRET_FILE: secretFile('SERVICE_CLUSTER_SECRET'),
  SERVICE_TRUSTED_PROXIES: networks.describe(
    'Comma-separated CIDRs of trusted proxies. The service reads X-Forwarded-For only from these proxies. Addresses in the header may have ports. Empty: the service ignores the header.',
  ),
  SERVICE_TRUSTED_WIDE_NETWORKS: networks.describe(
    'Networks of SERVICE_TRUSTED_PROXIES that are wider than /24 (IPv6: /64). In production, repeat each such network here, to confirm that you trust all its addresses.',
  ),
  SERVICE_DRAIN_SECONDS: whole
    .pipe(z.number().max(10))
    .default(5)
    .describe(
      'Maximum seconds for which a stopping edge serves calls. Each connection closes after its next answer. A standalone process does not wait.',
    ),
  SERVICE_RETENTION_DAYS: retentionDays.describe(
    'Days for which `ctl retention apply` keeps history and drift events, by plan, such as `free=30,pro=365`. Plans without days keep both for ever.',
  ),
  SERVICE_MODEL_MAX: z
    .enum(['1.0', '1.1'])
    .default('1.1')
    .describe(
      'Newest model that instances may start with or change to. While you may go back to a release without model 1.1, set 1.0 on every engine.',
    ),
  SERVICE_ACTOR_IDLE_S: whole
    .pipe(z.number().min(30))
    .default(900)
    .describe('Seconds after which an idle actor is evicted.'),
  SERVICE_ACTOR_MEMORY_MIB: whole
    .pipe(z.number().min(1))
    .default(1_024)
    .describe(
      'Memory bound of idle actors of one kind, in MiB. Over the bound, the least recently used leave memory.',
    ),
  ...BILLING_VARIABLES,
} as const;

const Environment = z.object(VARIABLES);

/** Process configuration, read once at start. */
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
 * Without this check, a forgotten `SERVICE_STORAGE` would keep data in memory without a warning.
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
      `${name}: needs SERVICE_STORAGE=${wanted}; SERVICE_STORAGE is ${storage}`,
    );
  }
}

/**
 * Reads the environment variables and the files that they name.
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

/** Maximum edit distance for a suggested variable name. More errors rarely mean the same name. */
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

/**
 * Variables that name files for OpenTelemetry's exporter, as pairs: the variable for traces, then
 * the general variable, which has lower precedence. The exporter ignores a file that it cannot read
 * and then exports nothing.
 */
const EXPORTER_FILES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(
  (what) => [`OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`] as const,
);

/**
 * Throws a one-line error if any of these files cannot be read. Does nothing if no collector is
 * configured.
 */
function assertExporterFiles(environment: NodeJS.ProcessEnv): void {
  if (!namesCollector(environment)) return;
  for (const names of EXPORTER_FILES) {
    const variable = names.find((name) => (environment[name] ?? '').trim() !== '');
    if (variable === undefined) continue;
    const path = environment[variable] ?? '';
    const content = readContent(path);
    if (typeof content === 'string') throw new Error(`${variable}: ${path} ${content}`);
  }
}

/** Parses a secret. Throws an error that does not quote the text. */
export function secretOfText<Name extends SecretVariable>(
  variable: Name,
  text: string,
): NonNullable<Config[Name]> {
  const parsed = VARIABLES[variable].safeParse(text);
  if (parsed.success && parsed.data !== undefined) return parsed.data as never;
  throw new Error(parsed.error?.issues[0]?.message);
}

/** All variables, in declaration order. */
export function describeVariables(): Variable[] {
  return Object.entries(VARIABLES).map(([name, schema]) => {
    const { data = '' } = schema.safeParse(undefined);
    return { name, fallback: String(data), meaning: schema.description ?? '' };
  });
}
