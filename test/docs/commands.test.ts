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

/** npm scripts for a document: those of its own package, or of the repository. */
function scriptsAt(path: string): object {
  const own = join(dirname(path), 'package.json');
  return JSON.parse(readFileSync(existsSync(own) ? own : 'package.json', 'utf8')).scripts;
}

/** Code in a document: its spans and blocks. */
function codeOf({ spans, codeLines }: Document): string[] {
  return [...spans.map(({ code }) => code), ...codeLines];
}

/** Variables unknown to every process; a trailing star is a wildcard. */
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

/** Words after `ctl`, or in ARGS of its make target, that are not commands. */
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

/** `ctl process` is a command group, `ctl nodes` a command. */
function isCommandOrGroup(said: readonly string[], words: readonly string[]): boolean {
  const isCommand = words.every((word, i) => word === said[i]);
  return isCommand || said.every((word, i) => word === words[i]);
}

/** Metric-like names outside the catalog, with or without labels. */
function unknownMetrics({ path, spans }: Document): string[] {
  const shape =
    /^[a-z]+_[a-z_]*(?:total|seconds|bytes|owned|deviating|connected|utilization|active)(?:\{.*\})?$/;
  return spans
    .map(({ code }) => code)
    .filter((code) => shape.test(code) && !(code.replace(/\{.*/, '') in METRICS))
    .map((code) => `${path}: ${code}`);
}

const commands = suite('the commands and variables in documents');

for (const [what, unknown] of [
  ['variables of the configuration', unknownVariables],
  ['targets of make', unknownTargets],
  ['scripts of npm', unknownScripts],
  ['commands of ctl', unknownCommands],
  ['metrics of the catalog', unknownMetrics],
] as const) {
  commands(`are ${what}`, () => assert.equal(DOCUMENTS.flatMap(unknown), []));
}

commands('cover every target of make', () => {
  const said = DOCUMENTS.flatMap(codeOf).join('\n');
  const silent = TARGETS.filter((target) => !new RegExp(`make ${target}(?![a-z-])`).test(said));
  assert.equal(silent, []);
});

/** Whether a document uses Node.js commands without linking to the required version. */
function needsNode({ path, text, codeLines }: Document): boolean {
  const isRun = codeLines.some(
    // Inside a container, `node` is the required version.
    (line) => /(^|[\s(])node [\w/-]+\.ts/.test(line) && !/ exec /.test(line),
  );
  const isKnown = text.includes('node_modules/.bin') || text.includes('install.md#nodejs');
  return isRun && !isKnown && path !== 'docs/contributing.md';
}

// Report 30: commands "without make" and the alias of ctl ended with a stack trace in Node.js 20.
commands('of Node.js link to the required Node.js version', () => {
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
  commands(`such as ${text.split('\n').join(' ')} are ${isUnknown ? 'refused' : 'taken'}`, () => {
    assert.is(unknown(documentOf('a.md', text)).length > 0, isUnknown);
  });
}

commands.run();
