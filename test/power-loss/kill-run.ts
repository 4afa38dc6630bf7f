import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Print } from '#deploy/local/progress';
import { Chance } from '#test/chaos/faults/chance';
import { CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { callsAt } from '#test/power-loss/calls-at';
import { FileServer } from '#test/power-loss/file-server';
import { type LimitedAccount, limitedAccounts } from '#test/power-loss/limited-accounts';
import { type Life, ServiceOnFile } from '#test/power-loss/service-on-file';
import { checkSurvivor, type SurvivorResult } from '#test/power-loss/survivor-check';

/** Parameters of `runKills`: the kills of a service on one file, and the load. */
export type KillPlan = {
  /** Folder for the file and the copies after each kill. */
  readonly place: string;
  readonly seed: number;
  readonly kills: number;
  /** Time limit in milliseconds, after which no further kill follows; default none. */
  readonly msMax?: number;
  readonly callsPerSecond: number;
  readonly instances: number;
  /** Monthly quota of each account in cycles; undefined for unlimited. */
  readonly quotas: readonly (number | undefined)[];
  readonly print: Print;
};

/** Result of the kills on one file. */
export type KillsResult = {
  readonly kills: number;
  /** Kills before the service was ready. */
  readonly inStart: number;
  /** Heads recomputed from their histories, in all copies. */
  readonly verified: number;
  /** Times from a start after a kill until the service was ready, in milliseconds. */
  readonly readyMs: readonly number[];
  /** Check of all calls after the final clean stop. */
  readonly last: SurvivorResult;
  /** One line per finding in a copy. */
  readonly findings: readonly string[];
};

/** Maximum time until a kill, during service and during a start, in milliseconds. */
const SERVED_MS_MAX = 700;
const START_MS_MAX = 900;

/** Share of kills before the service is ready. */
const IN_START = 0.15;

/** Time after a kill in which callers read the last answers, in milliseconds. */
const ANSWERS_READ_MS = 30;

const FILE_NAME = 'identity.db';

/** Reserve file of 32 MiB, which copies do not need. */
const LEFT_OUT = /-reserve$/;

/**
 * Kills (-9) a service on one file at random times under load, and restarts the service at once.
 * Compares a copy of the file after each kill with the answers that callers had received by then,
 * and the final file with all answers.
 */
export async function runKills(plan: KillPlan): Promise<KillsResult> {
  const data = join(plan.place, 'data');
  await mkdir(data, { recursive: true });
  const chance = new Chance(plan.seed);
  await using server = new FileServer();
  const service = await ServiceOnFile.on(join(data, FILE_NAME));
  using caller = new EdgeCaller([service.origin]);
  const log = new CallLog();
  let life = service.start();
  await using ended = new AsyncDisposableStack();
  ended.defer(() => life.kill());
  await life.ready;
  const accounts = await limitedAccounts(life.adminUrl(), plan.quotas);
  const load = new Load({ log, caller, accounts, chance });
  await load.prepare(plan.instances);
  const running = load.run(plan.callsPerSecond);
  const killed = new KilledLives(plan, server, log, accounts);
  let ending = sleep(chance.next() * SERVED_MS_MAX).then(life.kill);
  const deadlineMs = performance.now() + (plan.msMax ?? Number.POSITIVE_INFINITY);
  for (let isLast = false; !isLast; ) {
    await ending;
    killed.kills += 1;
    isLast = killed.kills === plan.kills || performance.now() > deadlineMs;
    const { copy, atMs } = await killed.copyOf(data);
    life = service.start();
    ending = killed.end(life, chance, isLast);
    // The check runs while the restarted service is already under load.
    await killed.check(copy, atMs);
  }
  await ending;
  await life.ready;
  await Promise.all([load.stop(), running]);
  await life.stop();
  const last = await checkSurvivor(server, {
    file: join(data, FILE_NAME),
    calls: log.calls,
    accounts,
  });
  const { kills, inStart, verified, readyMs, findings } = killed;
  return { kills, inStart, verified, readyMs, last, findings };
}

/** Kills a service and checks the copies. */
class KilledLives {
  readonly #plan: KillPlan;
  readonly #server: FileServer;
  readonly #log: CallLog;
  readonly #accounts: readonly LimitedAccount[];
  readonly findings: string[] = [];
  readonly readyMs: number[] = [];
  kills = 0;
  inStart = 0;
  verified = 0;

  constructor(
    plan: KillPlan,
    server: FileServer,
    log: CallLog,
    accounts: readonly LimitedAccount[],
  ) {
    this.#plan = plan;
    this.#server = server;
    this.#log = log;
    this.#accounts = accounts;
  }

  /** Kills a process at a random time. The last process is not killed, but must become ready. */
  async end(life: Life, chance: Chance, isLast: boolean): Promise<void> {
    const startedMs = performance.now();
    if (!isLast && chance.happens(IN_START)) {
      await sleep(chance.next() * START_MS_MAX);
      this.inStart += 1;
    } else {
      await life.ready;
      this.readyMs.push(performance.now() - startedMs);
      if (isLast) return;
      await sleep(chance.next() * SERVED_MS_MAX);
    }
    await life.kill();
  }

  /** Copies the files after a kill. Returns the copy, and a time after the last received answer. */
  async copyOf(data: string): Promise<{ readonly copy: string; readonly atMs: number }> {
    await sleep(ANSWERS_READ_MS);
    const atMs = performance.now();
    const copy = join(this.#plan.place, 'copy');
    await mkdir(copy);
    const names = (await readdir(data)).filter((name) => !LEFT_OUT.test(name));
    for (const name of names) await cp(join(data, name), join(copy, name));
    return { copy, atMs };
  }

  /** Checks a copy, then deletes the copy. */
  async check(copy: string, atMs: number): Promise<void> {
    const kill = this.kills;
    const calls = callsAt(this.#log.calls, atMs);
    const claim = { file: join(copy, FILE_NAME), calls, accounts: this.#accounts };
    try {
      const { findings, verified } = await checkSurvivor(this.#server, claim);
      this.findings.push(...findings.lines.map((line) => `after kill ${kill}: ${line}`));
      this.verified += verified;
    } catch (error) {
      this.findings.push(`after kill ${kill}: ${error instanceof Error ? error.message : error}`);
    }
    this.#plan.print(`kill ${kill} of ${this.#plan.kills}: ${this.findings.length} findings`);
    await rm(copy, { recursive: true });
  }
}
