/** Who may import whom: the map of the system (architecture 2). All may use `EVERYWHERE`. */
export const LAYERS: Record<string, readonly string[]> = {
  identity: [],
  accounts: [],
  errors: [],
  stdlib: [],
  telemetry: ['stdlib'],
  storage: ['identity', 'accounts'],
  bus: [],
  audit: ['accounts', 'storage'],
  grpc: [],
  routing: ['grpc', 'cluster'],
  cluster: ['bus', 'storage'],
  'cluster-status': ['cluster', 'bus', 'storage', 'grpc'],
  'actor-runtime': ['storage'],
  shards: ['actor-runtime', 'cluster', 'bus', 'storage'],
  engine: ['grpc', 'routing', 'cluster', 'shards', 'actor-runtime', 'identity', 'storage'],
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
  edge: ['grpc', 'billing', 'accounts', 'audit', 'identity'],
  console: ['edge', 'limiter', 'accounts', 'audit', 'storage'],
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
    ...['edge', 'engine', 'limiter', 'billing', 'grpc', 'routing', 'cluster', 'bus'],
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
 * What runs in browsers: a layer of its own inside the folder of the console, which imports of the
 * service the pure functions of the model alone, and which nothing of it imports.
 */
const PAGES = /^services\/programs\/console\/pages\//;

/** The layer that a file is in. */
export const layerOf = (file: string): string =>
  PAGES.test(file) ? 'pages' : (file.split('/')[2] ?? '');

/** The layer that an import names; components of pages are imported by a name of their own. */
export function layerNamed(target: string): string | undefined {
  const name = /^#([^/]+)/.exec(target)?.[1];
  return name === 'view' ? 'pages' : name;
}

/** What a file may import of other layers; undefined: its layer is not on the map. */
export function allowedTo(file: string): readonly string[] | undefined {
  const own = LAYERS[layerOf(file)];
  return PURE.test(file) || PAGES.test(file) ? own : own?.concat(EVERYWHERE);
}

/** Layers of pure functions: they import nothing but one another's own files. */
export const PURE = /^services\/(domain\/(identity|accounts)|infrastructure\/errors)\//;
/** The types outside its row of the map that a pure layer may import; nothing of them is code. */
export const PURE_TYPES: Record<string, RegExp> = {
  accounts: /^import type \{ Instant \} from '#stdlib\/clock';$/gm,
};
/** What decides in a cluster, from evidence or rows and time: drivers beside them do the I/O. */
export const PURE_CORES = ['failure-detector', 'failure-evidence', 'shard-planner', 'ring'].map(
  (name) => `services/actor-system/cluster/${name}.ts`,
);
/** What every layer but the pure ones may import. */
const EVERYWHERE = ['stdlib', 'telemetry', 'errors'];

/** The one executable and the one reader of the environment stand above the layers. */
export const ROOT_FILES = ['services/main.ts', 'services/config.ts'];
/** Who may import those. */
export const ROOT_IMPORTERS = /^services\/(programs\/startup\/|main\.ts)/;

/** The one place in which a vendor's name may be spoken. */
export const VENDORS: Record<string, RegExp> = {
  '@grpc/': /^services\/infrastructure\/grpc\//,
  '@bufbuild/': /^services\/infrastructure\/grpc\//,
  '@nats-io/': /^services\/infrastructure\/bus\//,
  'cassandra-driver': /^services\/infrastructure\/storage\/cassandra\//,
  fastify: /^services\/programs\/(edge|console)\//,
  preact: /^services\/programs\/console\/pages\//,
  '@preact/': /^services\/programs\/console\/pages\//,
  uplot: /^services\/programs\/console\/pages\/instance\/plot\.ts$/,
  uqr: /^services\/programs\/console\/pages\/sign-in\/second-factor\.tsx$/,
  otpauth: /^services\/programs\/console\/people\/second-factors\.ts$/,
  'prom-client': /^services\/infrastructure\/telemetry\/(make-metric|metrics)\.ts$/,
  '@opentelemetry/': /^services\/infrastructure\/telemetry\/otlp-tracer\.ts$/,
  stripe: /^services\/domain\/billing\/(stripe-provider|signed-notification)\.ts$/,
  pino: /^services\/infrastructure\/telemetry\/logger\.ts$/,
};

/** Words that may be spoken in one place only. */
export const SPOKEN_ONCE: Record<string, { word: RegExp; home: RegExp }> = {
  'a request of a page': {
    word: /\bfetch\(/,
    home: /^services\/programs\/console\/pages\/(shell\/api|cluster\/feed|instance\/code-samples)\.ts$/,
  },
  'process.env': { word: /process\.env/, home: /^services\/config\.ts$/ },
  'an HTTP status of the API': { word: /\.(code|status)\(\d{3}\)/, home: /^$/ },
  'the wall clock': {
    word: /Date\.now\(/,
    home: /^services\/(infrastructure\/stdlib\/clock|programs\/console\/pages\/cluster\/feed)\.ts$/,
  },
};

/** Pure functions of the standard library that a pure layer may call. */
export const PURE_BUILTINS = /node:(zlib|crypto)'/g;
