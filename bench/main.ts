/**
 * Measures the service and other ways to do the same work. Writes the results of each part to
 * bench/results.json, and the page bench/RESULTS.md from this file.
 *
 *   node bench/main.ts [--group memory,durable] [--only cluster] [--servers d,pg] [--quick]
 *   node bench/main.ts --page
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeRun } from '#bench/measures/machine';
import { PAGE_FILE, pageOf, sectionOf } from '#bench/page/page';
import { GROUPS, type Part, type Tool } from '#bench/page/part';
import { keepResults, type PartResults, readResults } from '#bench/page/results';
import { PARTS } from '#bench/parts';
import { findRedis, findWrk, MissingTool } from '#bench/processes/tool-path';
import { startedPrinter } from '#bench/progress';
import { findPostgres } from '#bench/references/postgres-server';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { installedK6 } from '#deploy/local/install/k6';
import { MissingServer } from '#deploy/local/install/missing-server';
import { installedNats } from '#deploy/local/install/nats';

const USAGE = `usage: node bench/main.ts [--group name,...] [--only part,...] [--servers name,...] [--quick]
       node bench/main.ts --page

  --group    parts of these groups; each group runs in at most 30 minutes on two cores
  --only     only these parts
  --servers  only these compared servers; the page stays unchanged
  --quick    a smoke test with the shortest rounds; its figures mean nothing, the page stays unchanged;
             without --group and --only, runs the short parts of all groups in at most 10 minutes
  --page     measures nothing; writes the page from bench/results.json, after a change of its text

${GROUPS.map((group) => `  ${group.padEnd(10)} ${namesIn(group).join(', ')}`).join('\n')}
`;

function namesIn(group: string): string[] {
  return PARTS.filter((part) => part.group === group).map(({ name }) => name);
}

type Options = {
  readonly parts: readonly Part[];
  readonly servers: ReadonlySet<string> | undefined;
  readonly isQuick: boolean;
  readonly isPageOnly: boolean;
};

const print = startedPrinter();

/** Parses the command line; undefined if invalid. */
function readOptions(args: readonly string[]): Options | undefined {
  const values = parse(args);
  if (values === undefined) return undefined;
  const groups = values.group?.split(',') ?? GROUPS;
  const isNamed = values.group !== undefined || values.only !== undefined;
  const names = values.only?.split(',') ?? groups.flatMap(namesIn);
  const isKnown = names.every((name) => PARTS.some((part) => part.name === name));
  if (!isKnown || groups.some((group) => namesIn(group).length === 0)) return undefined;
  const isLeftOut = ({ isLong = false }: Part) => isLong && values.quick && !isNamed;
  const parts = PARTS.filter((part) => names.includes(part.name) && !isLeftOut(part));
  const servers = values.servers === undefined ? undefined : new Set(values.servers.split(','));
  return { parts, servers, isQuick: values.quick, isPageOnly: values.page };
}

function parse(args: readonly string[]) {
  const options = {
    group: { type: 'string' },
    only: { type: 'string' },
    servers: { type: 'string' },
    quick: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    return undefined;
  }
}

/** Finds all tools before the first measurement, so that a missing tool wastes no time. */
async function findTools(needs: ReadonlySet<Tool>) {
  if (needs.has('cassandra')) {
    await installedCassandra(print);
    await installedNats(print);
  }
  return {
    wrk: needs.has('wrk') ? await findWrk() : undefined,
    k6: needs.has('k6') ? await installedK6(print) : undefined,
    postgres: needs.has('postgres') ? await findPostgres() : undefined,
    redis: needs.has('redis') ? await findRedis() : undefined,
  };
}

async function measure(part: Part, { servers, isQuick }: Options): Promise<PartResults> {
  const startedMs = performance.now();
  const facts = await describeRun(await findTools(new Set(part.needs)));
  const found = await part.measure({ isQuick, servers, print });
  const minutes = Number(((performance.now() - startedMs) / 60_000).toFixed(1));
  return { ...facts, minutes, ...found };
}

async function measureAll(options: Options): Promise<void> {
  await findTools(new Set(options.parts.flatMap(({ needs = [] }) => needs)));
  const isKept = !options.isQuick && options.servers === undefined;
  for (const part of options.parts) {
    print(`${part.name}: ${part.title}`);
    const found = await measure(part, options);
    process.stdout.write(`${sectionOf(part, found)}\n\n`);
    if (isKept) writeFileSync(PAGE_FILE, pageOf(PARTS, keepResults(part.name, found)));
    for (const problem of found.problems ?? []) print(`${part.name}: ${problem}`);
    if ((found.problems ?? []).length > 0) process.exitCode = 1;
  }
  if (isKept) print('now run npm run generate, which copies the figures into the documents');
  else print(`${PAGE_FILE} is unchanged, because this run is not complete`);
}

const options = readOptions(process.argv.slice(2));
if (process.argv.includes('--help')) {
  process.stdout.write(USAGE);
} else if (options === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else if (options.isPageOnly) {
  writeFileSync(PAGE_FILE, pageOf(PARTS, readResults()));
} else {
  await measureAll(options).catch((error: unknown) => {
    if (!(error instanceof MissingTool || error instanceof MissingServer)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
