import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeVariables } from '#config';
import { COMMANDS } from '#ctl/ctl';
import { METRICS } from '#telemetry/metrics';
import { DOCUMENTS, type Document, documentOf } from '#test/docs/documents';

const VARIABLES = new Set(describeVariables().map(({ name }) => name));
const TARGETS = [...readFileSync('Makefile', 'utf8').matchAll(/^([a-z-]+):.*## /gm)].map(
  ([, target = '']) => target,
);

/** npm scripts for a document: from `package.json` in its folder, or from the repository. */
function scriptsAt(path: string): object {
  const own = join(dirname(path), 'package.json');
  return JSON.parse(readFileSync(existsSync(own) ? own : 'package.json', 'utf8')).scripts;
}

/** Code spans and lines of code blocks in a document. */
function codeOf({ spans, codeLines }: Document): string[] {
  return [...spans.map(({ code }) => code), ...codeLines];
}

/** Environment variables that no process reads. A trailing star is a wildcard. */
function unknownVariables({ path, text }: Document): string[] {
  const names = [...text.matchAll(/\bSERVICE_([A-Z_]*)(\*?)/g)];
  return names
    .map(([name, rest = '', star]) => ({ name, isPrefix: star === '*' || rest === '' }))
    .filter(({ name, isPrefix }) => {
      const plain = name.replace('*', '');
      return isPrefix
        ? ![...VARIABLES].some((one) => one.startsWith(plain))
        : !VARIABLES.has(plain);
    })
    .map(({ name }) => `${path}: ${name}`);
}

function unknownTargets(document: Document): string[] {
  const named = codeOf(document).flatMap((code) => [
    ...code.matchAll(/(?:^|[\s(;&|{])make (?:--\w+ )?([a-z][a-z-]*)/g),
  ]);
  return named
    .filter(([, target = '']) => !TARGETS.includes(target))
    .map(([, target]) => `${document.path}: make ${target}`);
}

function unknownScripts(document: Document): string[] {
  const named = codeOf(document).flatMap((code) => [
    ...code.matchAll(/\bnpm run (?:--\w+ )?([\w:-]+)/g),
  ]);
  const scripts = scriptsAt(document.path);
  return named
    .filter(([, script = '']) => !(script in scripts))
    .map(([, script]) => `${document.path}: npm run ${script}`);
}

/** Commands after `ctl`, or in ARGS of its make target, that do not exist. */
function unknownCommands(document: Document): string[] {
  const named = codeOf(document).flatMap((code) => [
    ...code.matchAll(/(?:^|[\s(])ctl ((?:[a-z-]+ ?)+)/g),
    ...code.matchAll(/\bctl ARGS="?((?:[a-z-]+ ?)+)/g),
  ]);
  return named
    .map(([, said = '']) => said.trim().split(' '))
    .filter((said) => !COMMANDS.some(({ words }) => isCommandOrGroup(said, words)))
    .map((said) => `${document.path}: ctl ${said.join(' ')}`);
}

/** Whether the words are a command (`ctl nodes`) or a command group (`ctl process`). */
function isCommandOrGroup(said: readonly string[], words: readonly string[]): boolean {
  const isCommand = words.every((word, i) => word === said[i]);
  return isCommand || said.every((word, i) => word === words[i]);
}

/** Names that look like metrics, with or without labels, but are not in the catalog. */
function unknownMetrics({ path, spans }: Document): string[] {
  const shape =
    /^[a-z]+_[a-z_]*(?:total|seconds|bytes|owned|deviating|connected|utilization|active)(?:\{.*\})?$/;
  return spans
    .map(({ code }) => code)
    .filter((code) => shape.test(code) && !(code.replace(/\{.*/, '') in METRICS))
    .map((code) => `${path}: ${code}`);
}

const commands = suite('documents');

for (const [what, unknown] of [
  ['environment variables', unknownVariables],
  ['make targets', unknownTargets],
  ['npm scripts', unknownScripts],
  ['ctl commands', unknownCommands],
  ['metrics', unknownMetrics],
] as const) {
  commands(`name only existing ${what}`, () => assert.equal(DOCUMENTS.flatMap(unknown), []));
}

commands('mention every make target', () => {
  const said = DOCUMENTS.flatMap(codeOf).join('\n');
  const silent = TARGETS.filter((target) => !new RegExp(`make ${target}(?![a-z-])`).test(said));
  assert.equal(silent, []);
});

/** Whether a document shows Node.js commands without a link to the required version. */
function needsNode({ path, text, codeLines }: Document): boolean {
  const isRun = codeLines.some(
    // In a container, `node` has the required version.
    (line) => /(^|[\s(])node [\w/-]+\.ts/.test(line) && !/ exec /.test(line),
  );
  const isKnown = text.includes('node_modules/.bin') || text.includes('install.md#nodejs');
  return isRun && !isKnown && path !== 'docs/contributing.md';
}

// Report 30: commands "without make" and the alias of ctl ended with a stack trace in Node.js 20.
commands('with Node.js commands link to the required Node.js version', () => {
  assert.equal(
    DOCUMENTS.filter(needsNode).map(({ path }) => path),
    [],
  );
  assert.ok(needsNode(documentOf('a.md', '```sh\nnode services/main.ts edge\n```\n')));
});

for (const [text, unknown, isUnknown] of [
  ['SERVICE_PORT and SERVICE_NATS_*', unknownVariables, false],
  ['SERVICE_PORTS', unknownVariables, true],
  ['SERVICE_NOTS_*', unknownVariables, true],
  ['`make cluster-ctl ARGS="nodes"`', unknownTargets, false],
  ['`make luster`', unknownTargets, true],
  ['```sh\nmake luster\n```', unknownTargets, true],
  ['we make nothing', unknownTargets, false],
  ['`npm run generate`', unknownScripts, false],
  ['`npm run generates`', unknownScripts, true],
  ['`ctl usage reset`', unknownCommands, false],
  ['`ctl accounts burn`', unknownCommands, true],
  ['`make ctl ARGS="accounts burn"`', unknownCommands, true],
  ['`bus_dropped_total{reason="stale"}`', unknownMetrics, false],
  ['`bus_drops_total`', unknownMetrics, true],
] as const) {
  commands(`${isUnknown ? 'must not' : 'may'} contain ${text.split('\n').join(' ')}`, () => {
    assert.is(unknown(documentOf('a.md', text)).length > 0, isUnknown);
  });
}

commands.run();
