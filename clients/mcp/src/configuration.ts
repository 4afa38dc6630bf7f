import { parseArgs } from 'node:util';
import { IdentityEngine } from 'identity-engine';

/** Version of this package. */
export const VERSION = '1.1.0';

/** Configuration of the process. */
export type Configuration = {
  /** API key of the service. Undefined: each HTTP client sends its own key as bearer token. */
  readonly apiKey: string | undefined;
  /** Instances that sessions may use. Empty only if HTTP clients send their own key. */
  readonly instanceIds: readonly string[];
  /** HTTP listener; undefined for stdio. */
  readonly http: HttpConfiguration | undefined;
};

/** Configuration of the HTTP listener. */
export type HttpConfiguration = {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Permitted host names in the headers `Host` and `Origin`, without ports. */
  readonly allowedHosts: readonly string[];
  /** Bearer token that clients must send; undefined without such a token. */
  readonly token: string | undefined;
};

/** The configuration is invalid. The message is one line and names the next step. */
export class ConfigurationError extends Error {}

/** Text of `--help`. */
export const USAGE = `usage: identity-engine-mcp [--http [--host HOST] [--port PORT] [--allowed-hosts NAME,…]]

Serves the Model Context Protocol on standard input and output, or with --http on
http://127.0.0.1:8010/mcp.

  IDENTITY_ENGINE_API_KEY      API key of the service (svc_sk_…)
  IDENTITY_ENGINE_BASE_URL     service address (default: http://127.0.0.1:8000/v1)
  IDENTITY_ENGINE_INSTANCE_ID  instances that clients may use (inst_…,…)
  IDENTITY_ENGINE_MCP_TOKEN    bearer token that HTTP clients must send`;

const PORT_MAX = 65_535;

/** Form of a token: printable, and long enough against guessing. */
const TOKEN = /^[!-~]{16,512}$/;

/** Maximum number of instances of a process. Each list of resources names all instances. */
const INSTANCES_MAX = 100;

/** Deadline of a tool call, in milliseconds. */
const CALL_MS_MAX = 6_000;

/** Deadline of each request of a tool call, in milliseconds. */
const ATTEMPT_MS_MAX = 3_000;

/** Maximum requests of one tool call: enough to survive a failover, about 1 s. */
const ATTEMPTS_MAX = 5;

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Reads the configuration from command line arguments and environment. Throws a
 * `ConfigurationError`.
 */
export function readConfiguration(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Configuration {
  const variable = (name: string) => environment[`IDENTITY_ENGINE_${name}`] || undefined;
  const apiKey = variable('API_KEY');
  const instanceIds = instanceIdsIn(variable('INSTANCE_ID') ?? '');
  const http = httpOf(args, apiKey, variable('MCP_TOKEN'));
  if (http === undefined && apiKey === undefined) {
    throw new ConfigurationError('no API key: set IDENTITY_ENGINE_API_KEY to a key (svc_sk_…)');
  }
  if (apiKey !== undefined && instanceIds.length === 0) {
    throw new ConfigurationError(
      'no instance: set IDENTITY_ENGINE_INSTANCE_ID to one or several ids (inst_…,inst_…)',
    );
  }
  try {
    clientOf(apiKey ?? 'unknown');
  } catch (error) {
    throw new ConfigurationError(
      `${(error as Error).message}: correct IDENTITY_ENGINE_API_KEY or IDENTITY_ENGINE_BASE_URL`,
    );
  }
  return { apiKey, instanceIds, http };
}

/** Client of the service with one API key. Throws an `IdentityEngineError` for an invalid key. */
export function clientOf(apiKey: string): IdentityEngine {
  return new IdentityEngine({
    ...{ apiKey, timeoutMs: CALL_MS_MAX, attemptTimeoutMs: ATTEMPT_MS_MAX },
    attemptsMax: ATTEMPTS_MAX,
    // JSON-RPC messages cannot contain a bigint.
    integers: 'number',
  });
}

/** Whether a text is the id of an instance. Source: interface 2.2. */
export function isInstanceId(text: string): boolean {
  return /^inst_[0-9a-f]{16}$/.test(text);
}

function instanceIdsIn(list: string): string[] {
  const ids = [...new Set(namesIn(list))];
  if (ids.length <= INSTANCES_MAX && ids.every(isInstanceId)) return ids;
  throw new ConfigurationError(
    `IDENTITY_ENGINE_INSTANCE_ID is invalid: set it to at most ${INSTANCES_MAX} ids, separated by commas, each inst_ and 16 hexadecimal digits`,
  );
}

function namesIn(list: string): string[] {
  return list.split(',').flatMap((name) => name.trim() || []);
}

function httpOf(
  args: readonly string[],
  apiKey: string | undefined,
  token: string | undefined,
): HttpConfiguration | undefined {
  const { http, host = '127.0.0.1', port = '8010', 'allowed-hosts': names = '' } = optionsIn(args);
  if (http !== true) {
    if (args.length === 0) return undefined;
    throw new ConfigurationError('--host, --port and --allowed-hosts need --http: add --http');
  }
  if (!/^\d+$/.test(port) || Number(port) > PORT_MAX) {
    throw new ConfigurationError(`--port is invalid: set it to a number up to ${PORT_MAX}`);
  }
  if (token !== undefined && !(apiKey !== undefined && TOKEN.test(token))) {
    throw new ConfigurationError(
      'IDENTITY_ENGINE_MCP_TOKEN is invalid: use 16 or more printable characters, together with IDENTITY_ENGINE_API_KEY',
    );
  }
  const allowed = namesIn(names.toLowerCase());
  const isLoopback = /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
  const isOpen = apiKey !== undefined && token === undefined;
  if (!isLoopback && (isOpen || allowed.length === 0)) {
    throw new ConfigurationError(
      `--host ${host} is not a loopback address: name the hosts of your URL with --allowed-hosts and, with IDENTITY_ENGINE_API_KEY, set IDENTITY_ENGINE_MCP_TOKEN`,
    );
  }
  return { host, port: Number(port), allowedHosts: [...LOOPBACK_NAMES, ...allowed], token };
}

function optionsIn(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        http: { type: 'boolean' },
        host: { type: 'string' },
        port: { type: 'string' },
        'allowed-hosts': { type: 'string' },
      },
    });
    return values;
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n', 1);
    throw new ConfigurationError(`${reason.replace(/\.? To specify.*$/, '')}: see --help`);
  }
}
