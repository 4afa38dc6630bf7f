import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { promisify } from 'node:util';
import { at } from '#bench/load/process-answer';
import type { PostgresTools } from '#bench/references/postgres-server';

/** A program with its version. */
type Version = { readonly name: string; readonly value: string };

/** Circumstances of a run. */
export type RunFacts = {
  /** Start of the run, ISO 8601. */
  readonly date: string;
  /** Abbreviated hash, with a remark if the checkout has changes. Empty outside a checkout. */
  readonly commit: string;
  readonly machine: string;
  /** Load averages before the run. */
  readonly load: string;
  readonly versions: readonly Version[];
};

/** Programs of a run besides the service, by path. */
type RunTools = {
  readonly wrk?: string | undefined;
  readonly k6?: string | undefined;
  readonly postgres?: PostgresTools | undefined;
  readonly redis?: string | undefined;
};

/**
 * Machine, versions and time of a run. Must be called before the run starts processes, because the
 * result contains the load average.
 */
export async function describeRun(tools: RunTools = {}): Promise<RunFacts> {
  const [cpu] = cpus();
  const memoryGib = Math.round(totalmem() / 2 ** 30);
  const wrk = tools.wrk === undefined ? '' : await outputOf(tools.wrk, ['-v']);
  const k6 = tools.k6 === undefined ? undefined : await outputOf(tools.k6, ['version']);
  const redis = tools.redis === undefined ? '' : await outputOf(tools.redis, ['--version']);
  const versions: [string, string | undefined][] = [
    ['Node', process.version],
    ['Fastify', await packageVersion('fastify')],
    ['wrk', /wrk \S+/.exec(wrk)?.[0].slice('wrk '.length)],
    ['k6', /v[\d.]+/.exec(k6 ?? '')?.[0]],
    ['PostgreSQL', tools.postgres?.version],
    ['Redis', /v=(\S+)/.exec(redis)?.[1]],
  ];
  return {
    date: new Date().toISOString(),
    commit: await commit(),
    machine: `${cpus().length} × ${cpu?.model.trim()}, ${memoryGib} GiB, ${type()} ${release()}`,
    load: loadavg()
      .map((load) => load.toFixed(2))
      .join(' '),
    versions: versions.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
  };
}

/** Files that the benchmark itself writes between its parts. */
const RESULTS = [':!bench/results.json', ':!bench/RESULTS.md', ':!bench/latency.svg'];

async function commit(): Promise<string> {
  const hash = (await outputOf('git', ['rev-parse', '--short', 'HEAD'])).trim();
  if (!/^[0-9a-f]+$/.test(hash)) return '';
  const paths = ['services', 'bench', ...RESULTS];
  const changes = await outputOf('git', ['status', '--porcelain', '--', ...paths]);
  return changes.trim() === '' ? hash : `${hash} with uncommitted changes`;
}

async function packageVersion(name: string): Promise<string> {
  const text = await readFile(`node_modules/${name}/package.json`, 'utf8');
  return String(at(JSON.parse(text), ['version']));
}

/** Output of a program, also on failure, because `wrk -v` exits with 1. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const failed = (error: unknown) => ({ stdout: String(at(error, ['stdout']) ?? '') });
  const { stdout } = await promisify(execFile)(program, args).catch(failed);
  return stdout;
}
