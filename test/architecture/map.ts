/** Layers that each layer may import, besides `EVERYWHERE`. Source: architecture 2. */
export const LAYERS: Record<string, readonly string[]> = {
  identity: [],
  accounts: [],
  errors: [],
  stdlib: [],
  telemetry: ['stdlib'],
  webhooks: [],
  storage: ['identity', 'accounts', 'webhooks'],
  bus: [],
  audit: ['accounts', 'storage'],
  grpc: [],
  routing: ['grpc', 'cluster'],
  cluster: ['bus', 'storage'],
  'cluster-status': ['cluster', 'bus', 'storage', 'grpc'],
  'actor-runtime': ['storage'],
  shards: ['actor-runtime', 'cluster', 'bus', 'storage'],
  engine: [
    ...['grpc', 'routing', 'cluster', 'shards', 'actor-runtime', 'identity', 'storage'],
    ...['audit', 'webhooks'],
  ],
  courier: ['grpc', 'webhooks'],
  limiter: [
    'billing',
    'grpc',
    'shards',
    'actor-runtime',
    'accounts',
    'audit',
    'identity',
    'storage',
  ],
  billing: ['accounts', 'storage'],
  edge: ['grpc', 'billing', 'accounts', 'audit', 'identity', 'webhooks'],
  console: ['edge', 'limiter', 'grpc', 'accounts', 'audit', 'identity', 'storage', 'webhooks'],
  pages: ['identity'],
  ctl: [
    ...[
      'limiter',
      'engine',
      'shards',
      'actor-runtime',
      'grpc',
      'cluster',
      'bus',
      'identity',
      'storage',
    ],
    ...['edge', 'accounts', 'audit', 'console', 'cluster-status'],
  ],
  startup: [
    ...['edge', 'engine', 'limiter', 'courier', 'billing', 'grpc', 'routing', 'cluster', 'bus'],
    'webhooks',
    ...[
      'shards',
      'actor-runtime',
      'accounts',
      'audit',
      'storage',
      'console',
      'ctl',
      'cluster-status',
    ],
  ],
};
/**
 * Browser code of the console, a separate layer. It may import only the pure model, and no other
 * layer may import it.
 */
const PAGES = /^services\/programs\/console\/pages\//;

/** Layer that contains this file. */
export const layerOf = (file: string): string =>
  PAGES.test(file) ? 'pages' : (file.split('/')[2] ?? '');

/** Layer that an import name refers to. Page components are imported as `#view`. */
export function layerNamed(target: string): string | undefined {
  const name = /^#([^/]+)/.exec(target)?.[1];
  return name === 'view' ? 'pages' : name;
}

/** Layers that a file may import; undefined if `LAYERS` does not contain its layer. */
export function allowedTo(file: string): readonly string[] | undefined {
  const own = LAYERS[layerOf(file)];
  return PURE.test(file) || PAGES.test(file) ? own : own?.concat(EVERYWHERE);
}

/** Pure layers, which may import only each other. */
export const PURE = /^services\/(domain\/(identity|accounts)|infrastructure\/errors)\//;
/**
 * Imports that a layer may have besides `LAYERS`. The pages share types with the routes of the
 * console, and with the clients of the API.
 */
export const PURE_TYPES: Record<string, RegExp> = {
  pages:
    /^import (?:(?:type )?\{[^}]*\} from '#console\/answers'|type \{[^}]*\} from '#clients\/typescript\/src\/models');$/gm,
  accounts: /^import type \{ Instant \} from '#stdlib\/clock';$/gm,
};
/** Files with pure decision functions of the cluster. Separate drivers do the I/O. */
export const PURE_CORES = ['failure-detector', 'failure-evidence', 'shard-planner', 'ring'].map(
  (name) => `services/actor-system/cluster/${name}.ts`,
);
/** Layers that all layers except the pure layers may import. */
const EVERYWHERE = ['stdlib', 'telemetry', 'errors'];

/** Entry point and configuration reader, which belong to no layer. */
export const ROOT_FILES = ['services/main.ts', 'services/config.ts'];
/** Files that may import the root files. */
export const ROOT_IMPORTERS = /^services\/(programs\/startup\/|main\.ts)/;

/** Files that may import each vendor package. */
export const VENDORS: Record<string, RegExp> = {
  '@grpc/': /^services\/infrastructure\/grpc\//,
  '@bufbuild/': /^services\/infrastructure\/grpc\//,
  '@nats-io/': /^services\/infrastructure\/bus\//,
  'cassandra-driver': /^services\/infrastructure\/storage\/cassandra\//,
  fastify: /^services\/programs\/(edge|console)\//,
  preact: /^services\/programs\/console\/pages\//,
  '@preact/': /^services\/programs\/console\/pages\//,
  '@zag-js/': /^services\/programs\/console\/pages\//,
  'ipaddr.js': /^services\/domain\/webhooks\/public-address\.ts$/,
  uplot: /^services\/programs\/console\/pages\/instance\/plot\.ts$/,
  uqr: /^services\/programs\/console\/pages\/sign-in\/second-factor\.tsx$/,
  otpauth: /^services\/programs\/console\/people\/second-factors\.ts$/,
  'prom-client': /^services\/infrastructure\/telemetry\/(make-metric|metrics)\.ts$/,
  '@opentelemetry/': /^services\/infrastructure\/telemetry\/otlp-tracer\.ts$/,
  stripe: /^services\/domain\/billing\/(stripe-provider|signed-notification)\.ts$/,
  pino: /^services\/infrastructure\/telemetry\/logger\.ts$/,
};

/** Calls that only some files may contain. */
export const RESTRICTED: Record<string, { word: RegExp; home: RegExp }> = {
  'a request of a browser page': {
    word: /\bfetch\(/,
    home: /^services\/programs\/console\/pages\/(shell\/api|cluster\/feed|instance\/code-samples)\.ts$/,
  },
  'process.env': {
    word: /process\.env/,
    // A sample for customers is text. The entry point sets the folder of the compile cache.
    home: /^services\/(config|main|programs\/console\/pages\/webhooks\/verify-samples)\.ts$/,
  },
  'an HTTP status of the API': { word: /\.(code|status)\(\d{3}\)/, home: /^$/ },
  'the wall clock': {
    word: /Date\.now\(/,
    home: /^services\/(infrastructure\/stdlib\/clock|programs\/console\/pages\/cluster\/feed)\.ts$/,
  },
};

/** Node.js modules with pure functions that a pure layer may call. */
export const PURE_BUILTINS = /node:(zlib|crypto)'/g;
