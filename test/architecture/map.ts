/** Who may import whom: the map of the system (architecture 2). All may use `EVERYWHERE`. */
export const LAYERS: Record<string, readonly string[]> = {
  identity: [],
  accounts: [],
  fault: [],
  platform: [],
  storage: ['identity', 'accounts'],
  bus: [],
  audit: ['accounts', 'storage'],
  wire: [],
  routing: ['wire', 'cluster'],
  cluster: ['bus', 'storage'],
  overview: ['cluster', 'bus', 'storage', 'wire'],
  runtime: ['storage'],
  node: ['runtime', 'cluster', 'bus', 'storage'],
  engine: ['wire', 'routing', 'cluster', 'node', 'runtime', 'identity', 'storage'],
  limiter: ['billing', 'wire', 'node', 'runtime', 'accounts', 'audit', 'identity', 'storage'],
  billing: ['accounts', 'storage'],
  edge: ['wire', 'billing', 'accounts', 'audit', 'identity'],
  console: ['edge', 'limiter', 'accounts', 'audit', 'storage'],
  pages: ['identity'],
  ctl: [
    ...['limiter', 'engine', 'node', 'runtime', 'wire', 'cluster', 'bus', 'identity', 'storage'],
    ...['edge', 'accounts', 'audit', 'console', 'overview'],
  ],
  process: [
    ...['edge', 'engine', 'limiter', 'billing', 'wire', 'routing', 'cluster', 'bus'],
    ...['node', 'runtime', 'accounts', 'audit', 'storage', 'console', 'ctl', 'overview'],
  ],
};
/**
 * What runs in browsers: a layer of its own inside the folder of the console, which imports of the
 * service the pure functions of the model alone, and which nothing of it imports.
 */
const PAGES = /^services\/console\/pages\//;

/** The layer that a file is in. */
export const layerOf = (file: string): string =>
  PAGES.test(file) ? 'pages' : (file.split('/')[1] ?? '');

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
export const PURE = /^services\/(identity|accounts|fault)\//;
/** The types outside its row of the map that a pure layer may import; nothing of them is code. */
export const PURE_TYPES: Record<string, RegExp> = {
  accounts: /^import type \{ Instant \} from '#platform\/clock';$/gm,
};
/** What decides in a cluster, from evidence or rows and time: drivers beside them do the I/O. */
export const PURE_CORES = ['failure-detector', 'failure-evidence', 'shard-planner', 'ring'].map(
  (name) => `services/cluster/${name}.ts`,
);
/** What every layer but the pure ones may import. */
const EVERYWHERE = ['platform', 'fault'];

/** The one executable and the one reader of the environment stand above the layers. */
export const ROOT_FILES = ['services/main.ts', 'services/config.ts'];
/** Who may import those. */
export const ROOT_IMPORTERS = /^services\/(process\/|main\.ts)/;

/** The one place in which a vendor's name may be spoken. */
export const VENDORS: Record<string, RegExp> = {
  '@grpc/': /^services\/wire\//,
  '@bufbuild/': /^services\/wire\//,
  '@nats-io/': /^services\/bus\//,
  'cassandra-driver': /^services\/storage\/cassandra\//,
  fastify: /^services\/(edge|console)\//,
  preact: /^services\/console\/pages\//,
  '@preact/': /^services\/console\/pages\//,
  uplot: /^services\/console\/pages\/instance\/plot\.ts$/,
  uqr: /^services\/console\/pages\/sign-in\/second-factor\.tsx$/,
  otpauth: /^services\/console\/people\/second-factors\.ts$/,
  'prom-client': /^services\/platform\/(make-metric|metrics)\.ts$/,
  '@opentelemetry/': /^services\/platform\/otlp-tracer\.ts$/,
  stripe: /^services\/billing\/(stripe-provider|signed-notification)\.ts$/,
  pino: /^services\/platform\/logger\.ts$/,
};

/** Words that may be spoken in one place only. */
export const SPOKEN_ONCE: Record<string, { word: RegExp; home: RegExp }> = {
  'a request of a page': {
    word: /\bfetch\(/,
    home: /^services\/console\/pages\/(shell\/api|cluster\/feed|instance\/code-samples)\.ts$/,
  },
  'process.env': { word: /process\.env/, home: /^services\/config\.ts$/ },
  'an HTTP status of the API': { word: /\.(code|status)\(\d{3}\)/, home: /^$/ },
  'the wall clock': {
    word: /Date\.now\(/,
    home: /^services\/(platform\/clock|console\/pages\/cluster\/feed)\.ts$/,
  },
};

/** Pure functions of the standard library that a pure layer may call. */
export const PURE_BUILTINS = /node:(zlib|crypto)'/g;
