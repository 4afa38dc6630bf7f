import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** Who may import whom: the map of the system (architecture 2). All may use `EVERYWHERE`. */
const LAYERS: Record<string, readonly string[]> = {
  identity: [],
  accounts: [],
  fault: [],
  platform: [],
  storage: ['identity', 'accounts'],
  bus: [],
  wire: [],
  routing: ['wire', 'cluster'],
  cluster: ['bus', 'storage'],
  runtime: ['storage'],
  node: ['runtime', 'cluster', 'bus', 'storage'],
  engine: ['wire', 'routing', 'cluster', 'node', 'runtime', 'identity', 'storage'],
  limiter: ['wire', 'node', 'runtime', 'accounts', 'storage'],
  edge: ['wire', 'accounts', 'identity'],
  ctl: ['limiter', 'engine', 'node', 'runtime', 'wire', 'cluster', 'bus', 'identity', 'storage'],
  process: [
    ...['edge', 'engine', 'limiter', 'wire', 'routing', 'cluster', 'bus'],
    ...['node', 'runtime', 'accounts', 'storage', 'ctl'],
  ],
  apidoc: ['process', 'edge', 'engine', 'limiter', 'accounts', 'identity'],
};
const PURE = /^services\/(identity|accounts|fault)\//;
const EVERYWHERE = ['platform', 'fault'];

/** The one executable and the one reader of the environment stand above the layers. */
const ROOT_FILES = ['services/main.ts', 'services/config.ts'];
const ROOT_IMPORTERS = /^services\/(process\/|apidoc\/|main\.ts)/;

/** The one place in which a vendor's name may be spoken. */
const VENDORS: Record<string, RegExp> = {
  '@grpc/': /^services\/wire\//,
  '@bufbuild/': /^services\/wire\//,
  '@nats-io/': /^services\/bus\//,
  'cassandra-driver': /^services\/storage\/cassandra\//,
  fastify: /^services\/edge\//,
  'prom-client': /^services\/platform\/(make-metric|metrics)\.ts$/,
  pino: /^services\/platform\/logger\.ts$/,
};

/** Words that may be spoken in one place only. */
const SPOKEN_ONCE: Record<string, { word: RegExp; home: RegExp }> = {
  'process.env': { word: /process\.env/, home: /^services\/config\.ts$/ },
  'an HTTP status of the API': { word: /\.(code|status)\(\d{3}\)/, home: /^$/ },
  'the wall clock': { word: /Date\.now\(/, home: /^services\/platform\/clock\.ts$/ },
};

/** Pure functions of the standard library that a pure layer may call. */
const PURE_BUILTINS = /node:(zlib|crypto)'/g;

const FILE_LINES_MAX = 300;
const BANNED_NAMES = /^(utils?|helpers?|common|shared|misc|types|index)\b/;

const files = globSync('services/**/*.ts', { exclude: ['services/wire/gen/**'] });
const sourceOf = (file: string): string => readFileSync(file, 'utf8');
const importsOf = (file: string): string[] =>
  [...sourceOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');

const architecture = suite('architecture');

architecture('there is something to look at', () => {
  assert.ok(files.length > 100, 'a gate that looks at nothing passes everything');
});

architecture('every import follows an arrow of the map', () => {
  for (const file of files.filter((name) => !ROOT_FILES.includes(name))) {
    const layer = file.split('/')[1] ?? '';
    const allowed = PURE.test(file) ? LAYERS[layer] : LAYERS[layer]?.concat(EVERYWHERE);
    assert.ok(allowed, `${file}: ${layer} is not on the map`);
    for (const target of importsOf(file)) {
      assert.not.match(target, /^\.\.?\//, `${file}: import ${target} by its # name`);
      const other = /^#([^/]+)/.exec(target)?.[1];
      if (other === undefined || other === layer) continue;
      if (other === 'config') assert.match(file, ROOT_IMPORTERS, `${file}: only processes read it`);
      else assert.ok(allowed.includes(other), `${file}: ${layer} may not import ${other}`);
    }
  }
});

architecture('every adapter is opened in ports.ts and nowhere else', () => {
  const adapter = /^#storage\/(memory|cassandra)\/|^#bus\/(in-process|nats)-bus/;
  for (const file of files.filter((name) => !/\/ports\.ts$|\/(memory|cassandra)\//.test(name))) {
    for (const target of importsOf(file)) assert.not.match(target, adapter, `${file}: ${target}`);
  }
});

architecture('every vendor and every magic word stays in its place', () => {
  for (const file of files) {
    for (const target of importsOf(file)) {
      for (const [vendor, home] of Object.entries(VENDORS)) {
        if (target.startsWith(vendor)) assert.match(file, home, `${file}: ${vendor}`);
      }
    }
    for (const [what, { word, home }] of Object.entries(SPOKEN_ONCE)) {
      if (word.test(sourceOf(file))) assert.match(file, home, `${file}: ${what}`);
    }
  }
});

architecture('the pure layers know no input, no output, no clock and no chance', () => {
  const impurity = /node:|Date\.now|new Date\(\)|Math\.random|process\.|\basync\b|\bawait\b/;
  for (const file of files.filter((name) => PURE.test(name))) {
    const source = sourceOf(file).replaceAll(PURE_BUILTINS, '');
    assert.not.match(source, impurity, `${file} is not pure`);
  }
});

architecture('nothing on the edge can call out', () => {
  const outgoing = /\bfetch\(|node:https|\bundici\b|http\.request|net\.connect/;
  for (const file of files.filter((name) => name.startsWith('services/edge/'))) {
    assert.not.match(sourceOf(file), outgoing, `${file} reaches out (attacks, API7)`);
  }
});

architecture('files are short and named for what they hold', () => {
  for (const file of files) {
    const lineCount = sourceOf(file).split('\n').length;
    assert.ok(lineCount <= FILE_LINES_MAX, `${file}: ${lineCount} lines`);
    assert.not.match(basename(file), BANNED_NAMES, `${file}: name the concept`);
  }
});

architecture('every export says what it promises', () => {
  for (const file of files) {
    const lines = sourceOf(file).split('\n');
    for (const [index, line] of lines.entries()) {
      const isExport = /^export (async )?(function|class|const|type|interface) /.test(line);
      if (!isExport) continue;
      assert.match(lines[index - 1] ?? '', /\*\/$/, `${file}:${index + 1} has no doc line`);
    }
  }
});

architecture('every suite that is declared is run', () => {
  for (const file of globSync('test/**/*.test.ts')) {
    const source = sourceOf(file);
    for (const [, name] of source.matchAll(/const (\w+) = suite\b/g)) {
      assert.ok(
        source.includes(`${name}.run()`) ||
          new RegExp(
            `for \\(const \\w+ of \\[[^\\]]*\\b${name}\\b[^\\]]*\\]\\) \\w+\\.run\\(\\)`,
          ).test(source),
        `${file}: ${name} never runs`,
      );
    }
  }
});

architecture.run();
