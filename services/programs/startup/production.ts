import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import { isLoopbackHost, networkText, readNetwork } from '#stdlib/network';

/*
 * Settings that SERVICE_ENVIRONMENT=production refuses (decision 140). With such a setting, a
 * process would lose data or send secrets in plain text without any sign.
 */

/** Role of a process. `ctl` is a command on a cluster. */
export type Role =
  | ('standalone' | 'edge' | 'engine' | 'limiter' | 'courier')
  | ('console' | 'migrate' | 'ctl');

/** Facts about an installation beyond the text of its configuration. */
type ProductionEvidence = {
  /** Whether a TLS folder contains a client certificate. */
  readonly showsCertificate: (folder: string) => boolean;
};

/** Minimum secret length: 128 bits in hexadecimal digits, as `openssl rand -hex 16` prints. */
const SECRET_LENGTH_MIN = 32;

/**
 * Minimum number of distinct characters in a secret. Of 28 million secrets of 32 random hexadecimal
 * digits, one has fewer distinct characters.
 */
const SECRET_VARIETY_MIN = 8;

/** Public secrets from this repository's samples, tests and benchmarks. */
const SAMPLE_SECRETS: readonly string[] = [
  'for-this-machine-only',
  'the secret of this test',
  'the secret of all tests',
  'the secret of the benchmark',
];

/**
 * Throws one `ConfigError` with all settings that production refuses for this role. Does nothing
 * outside production.
 */
export function assertProduction(config: Config, role: Role): void {
  if (config.SERVICE_ENVIRONMENT !== 'production') return;
  const showsCertificate = (folder: string) => existsSync(join(folder, 'tls.crt'));
  const faults = productionFaults(config, role, { showsCertificate });
  if (faults.length === 0) return;
  throw new ConfigError(`SERVICE_ENVIRONMENT=production refuses this: ${faults.join('; ')}`);
}

/** Faults in a production configuration for this role. */
export function productionFaults(
  config: Config,
  role: Role,
  evidence: ProductionEvidence,
): readonly string[] {
  return [
    ...storageFaults(config, role, evidence),
    ...(servesApi(role) && config.SERVICE_DOCS_ENABLED
      ? ['SERVICE_DOCS_ENABLED publishes the API documentation']
      : []),
    ...(role === 'standalone' && config.SERVICE_LOCAL_ACCOUNT
      ? ['SERVICE_LOCAL_ACCOUNT creates an account without limits and prints its key']
      : []),
    ...proxyFaults(config, role),
    ...consoleFaults(config, role),
    ...(servesAccounts(role) && config.SERVICE_BILLING_PROVIDER === 'local'
      ? ['SERVICE_BILLING_PROVIDER=local sells plans without payment']
      : []),
    ...wireFaults(config, role),
    ...natsFaults(config, role, evidence),
    ...secretFaults(config, role),
  ];
}

function storageFaults(config: Config, role: Role, evidence: ProductionEvidence): string[] {
  // For SQLite, the file system controls access to the file.
  if (config.SERVICE_STORAGE === 'sqlite') return [];
  // Edges and couriers store nothing. `migrate` and `ctl` always use Cassandra.
  if (role === 'edge' || role === 'courier') return [];
  const isLasting = role === 'migrate' || role === 'ctl';
  if (!isLasting && config.SERVICE_STORAGE === 'memory') {
    return ['SERVICE_STORAGE=memory loses all data at a restart'];
  }
  return serverFaults(config, 'SERVICE_CASSANDRA', 'Cassandra', evidence);
}

/** Faults in a server connection: plain text, or no client credentials. */
function serverFaults(
  config: Config,
  server: 'SERVICE_CASSANDRA' | 'SERVICE_NATS',
  name: string,
  { showsCertificate }: ProductionEvidence,
): string[] {
  const folder = config[`${server}_TLS_FOLDER`];
  const hasPassword =
    config[`${server}_USERNAME`] !== undefined && config[`${server}_PASSWORD`] !== undefined;
  const hasCredentials = hasPassword || (folder !== undefined && showsCertificate(folder));
  return [
    ...(folder === undefined ? [`${server}_TLS_FOLDER is not set: ${name} uses plain text`] : []),
    ...(hasCredentials
      ? []
      : [`${server}_USERNAME and _PASSWORD, or a client certificate, are not set`]),
  ];
}

/** Roles that do not use NATS. */
const WITHOUT_NATS: ReadonlySet<Role> = new Set(['standalone', 'courier', 'migrate']);

function natsFaults(config: Config, role: Role, evidence: ProductionEvidence): string[] {
  if (WITHOUT_NATS.has(role)) return [];
  if (config.SERVICE_NATS_URL === undefined) return [];
  return serverFaults(config, 'SERVICE_NATS', 'NATS', evidence);
}

/**
 * Minimum prefix length of a trusted proxy network, in bits: 256 IPv4 addresses, or one IPv6
 * subnet. Decision 322.
 */
const PROXY_BITS_MIN = { v4: 24, v6: 64 } as const;

/**
 * Faults for wide proxy networks that SERVICE_TRUSTED_WIDE_NETWORKS does not confirm. Any pod in
 * such a network could claim any client address.
 */
function proxyFaults(config: Config, role: Role): string[] {
  if (!servesApi(role) && role !== 'console') return [];
  const accepted = new Set(config.SERVICE_TRUSTED_WIDE_NETWORKS.map(textOfNetwork));
  const wide = config.SERVICE_TRUSTED_PROXIES.map(textOfNetwork).filter((text) => {
    const least = text.includes(':') ? PROXY_BITS_MIN.v6 : PROXY_BITS_MIN.v4;
    return Number(text.split('/')[1]) < least && !accepted.has(text);
  });
  if (wide.length === 0) return [];
  const names = wide.join(', ');
  return [
    `SERVICE_TRUSTED_PROXIES trusts every address in ${names}: name the proxies, or add the network to SERVICE_TRUSTED_WIDE_NETWORKS`,
  ];
}

/** Canonical text of a network. */
function textOfNetwork(cidr: string): string {
  const network = readNetwork(cidr);
  return network === undefined ? cidr : networkText(network);
}

/**
 * Problems of the console's origin. A standalone console without an origin is reachable on loopback
 * only and may use plain text.
 */
function consoleFaults(config: Config, role: Role): string[] {
  const { SERVICE_CONSOLE_ENABLED: isEnabled, SERVICE_CONSOLE_ORIGIN: origin } = config;
  if (role !== 'console' && !(role === 'standalone' && isEnabled)) return [];
  if (origin === undefined) {
    return role === 'console' ? ['SERVICE_CONSOLE_ORIGIN is not set: no browser can connect'] : [];
  }
  return origin.startsWith('https:')
    ? []
    : ['SERVICE_CONSOLE_ORIGIN is not https: passwords are sent in plain text'];
}

function wireFaults(config: Config, role: Role): string[] {
  if (config.SERVICE_TLS_FOLDER !== undefined) return [];
  const away = wireAddresses(config, role).filter(([, address]) => !isLoopbackHost(address));
  if (away.length === 0) return [];
  const places = away.map(([variable, address]) => `${variable} ${address}`).join(', ');
  return [`SERVICE_TLS_FOLDER is not set: plain text outside loopback (${places})`];
}

/** Addresses at which this role listens, or calls other processes. */
function wireAddresses(config: Config, role: Role): (readonly [string, string])[] {
  const addresses = (...variables: readonly AddressVariable[]) =>
    variables.flatMap((variable) => {
      const address = config[variable];
      return address === undefined ? [] : [[variable, address] as const];
    });
  // The bus delivers addresses of other processes, which may be as remote as NATS.
  const heard = (config.SERVICE_NATS_URL ?? []).map(
    (url) => ['SERVICE_NATS_URL', new URL(url).host] as const,
  );
  switch (role) {
    case 'engine':
      return [
        ...addresses('SERVICE_ENGINE_LISTEN', 'SERVICE_ENGINE_ADVERTISE'),
        ...config.SERVICE_COURIER_ADDRESSES.map(
          (one) => ['SERVICE_COURIER_ADDRESSES', one] as const,
        ),
        ...heard,
      ];
    case 'courier':
      return addresses('SERVICE_COURIER_LISTEN');
    case 'limiter':
      return [...addresses('SERVICE_LIMITER_LISTEN', 'SERVICE_LIMITER_ADVERTISE'), ...heard];
    case 'edge':
      if (heard.length > 0) return heard;
      return addresses('SERVICE_ENGINE_ADDRESS', 'SERVICE_LIMITER_ADDRESS');
    case 'console':
    case 'ctl':
      return heard;
    case 'standalone':
    case 'migrate':
      return [];
  }
}

type AddressVariable =
  | 'SERVICE_ENGINE_LISTEN'
  | 'SERVICE_ENGINE_ADVERTISE'
  | 'SERVICE_ENGINE_ADDRESS'
  | 'SERVICE_LIMITER_LISTEN'
  | 'SERVICE_LIMITER_ADVERTISE'
  | 'SERVICE_LIMITER_ADDRESS'
  | 'SERVICE_COURIER_LISTEN';

function secretFaults(config: Config, role: Role): string[] {
  const variable = 'SERVICE_CLUSTER_SECRET';
  const secrets = config[variable];
  if (role === 'migrate') return [];
  if (secrets === undefined) {
    // The secret derives ids and encrypts data that outlive the process, and signs messages over
    // NATS.
    const isAlways = servesApi(role) || role === 'console' || role === 'courier';
    const isNeeded = isAlways || config.SERVICE_NATS_URL !== undefined;
    return isNeeded ? [`${variable} is not set`] : [];
  }
  if (secrets.every(isSecret)) return [];
  return [
    `${variable} is a sample or guessable: use ${SECRET_LENGTH_MIN} random characters (openssl rand -hex 16)`,
  ];
}

function isSecret(text: string): boolean {
  const isRepetition = (text + text).indexOf(text, 1) < text.length;
  return (
    !SAMPLE_SECRETS.includes(text) &&
    text.length >= SECRET_LENGTH_MIN &&
    new Set(text).size >= SECRET_VARIETY_MIN &&
    !isRepetition
  );
}

function servesAccounts(role: Role): boolean {
  return role === 'limiter' || role === 'standalone';
}

function servesApi(role: Role): boolean {
  return role === 'edge' || role === 'standalone';
}
