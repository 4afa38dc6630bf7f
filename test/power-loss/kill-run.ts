import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Print } from '#deploy/local/progress';
import { CallLog } from '#test/chaos/call-log';
import { Chance } from '#test/chaos/chance';
import { EdgeCaller } from '#test/chaos/edge-caller';
import { Load } from '#test/chaos/load';
import { callsAt } from '#test/power-loss/calls-at';
import { FileServer } from '#test/power-loss/file-server';
import { type LimitedAccount, limitedAccounts } from '#test/power-loss/limited-accounts';
import { type Life, ServiceOnFile } from '#test/power-loss/service-on-file';
import { checkSurvivor, type SurvivorResult } from '#test/power-loss/survivor-check';

/** How often the service on one file is killed, and under what. */
export type KillPlan = {
  /** Gets the file, and copies of what each kill has left. */
  readonly place: string;
  readonly seed: number;
  readonly kills: number;
  /** After how long it is killed no more, in milliseconds; absent: until that often. */
  readonly msMax?: number;
  readonly callsPerSecond: number;
  readonly instances: number;
  /** Cycles a month of each account; undefined: more than it uses. */
  readonly quotas: readonly (number | undefined)[];
  readonly print: Print;
};

/** What the kills of one file came to. */
export type KillsResult = {
  readonly kills: number;
  /** Of these in the start of the service, before it served. */
  readonly inStart: number;
  /** Heads that were found to follow from their rows, in all copies. */
  readonly verified: number;
  /** From a start after a kill until it served, in milliseconds. */
  readonly readyMs: readonly number[];
  /** The account of all calls, after the last life was stopped in good order. */
  readonly last: SurvivorResult;
  /** One line for each thing that was wrong with a copy. */
  readonly findings: readonly string[];
};

/** How long a life lasts at most once it serves, and a start that is killed, in milliseconds. */
const SERVED_MS_MAX = 700;
const START_MS_MAX = 900;

/** The share of kills that come before the service serves. */
const IN_START = 0.15;

/** After a kill, until callers have read what the dead process had answered. Milliseconds. */
const ANSWERS_READ_MS = 30;

const FILE_NAME = 'identity.db';

/** What no start needs: 32 MiB that only hold room. */
const LEFT_OUT = /-reserve$/;

/**
 * Kills (-9) the service on one file again and again at random moments under a load that goes on,
 * starts it again at once, and checks a copy of what each kill has left against what callers knew by
 * then; at the end the file itself against all that they were answered.
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
    // The copy is checked while the next life is already under load.
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

/** What kills have left, and what was wrong with it. */
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

  /** Kills a life at random: while it starts, or while it serves; the last one only gets ready. */
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

  /** Copies the files that a kill has left, with the moment until when callers could know of them. */
  async copyOf(data: string): Promise<{ readonly copy: string; readonly atMs: number }> {
    await sleep(ANSWERS_READ_MS);
    const atMs = performance.now();
    const copy = join(this.#plan.place, 'copy');
    await mkdir(copy);
    const names = (await readdir(data)).filter((name) => !LEFT_OUT.test(name));
    for (const name of names) await cp(join(data, name), join(copy, name));
    return { copy, atMs };
  }

  /** Checks a copy and removes it. */
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
