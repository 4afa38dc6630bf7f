import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { Chance } from '#test/chaos/faults/chance';
import { CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import { compilePreload, preloadLack } from '#test/power-loss/disk/preloaded-library';
import { FileServer } from '#test/power-loss/file-server';
import { limitedAccounts } from '#test/power-loss/limited-accounts';
import { type Life, ServiceOnFile } from '#test/power-loss/service-on-file';
import { checkSurvivor, type SurvivorResult } from '#test/power-loss/survivor-check';
import { suiteUnless } from '#test/support/servers/real-servers';

/** Wall clock of running processes, which a test can step. */
class WallClock {
  /** Environment variables for a process with this clock. */
  readonly variables: Record<string, string>;
  readonly #file: string;

  private constructor(library: string, file: string) {
    this.#file = file;
    this.variables = { LD_PRELOAD: library, WALL_CLOCK: file };
    writeFileSync(file, Buffer.alloc(8));
  }

  /** Creates a clock without offset. Its files are in `folder`. */
  static async in(folder: string): Promise<WallClock> {
    return new WallClock(await compilePreload(folder, 'wall-clock'), join(folder, 'wall-clock'));
  }

  /** Sets the offset to the machine's clock in milliseconds; may be negative. */
  put(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    const file = openSync(this.#file, 'r+');
    // Readers see a write of eight bytes atomically.
    writeSync(file, bytes);
    closeSync(file);
  }
}

const LOAD = { seed: 3, callsPerSecond: 80, instances: 40, quotas: [undefined, 150] } as const;

const HOUR_MS = 3_600_000;

/** Minimum acknowledged changes at each offset, even on a busy machine. */
const CHANGES_MIN = 20;

/** Sign of the steps: away from a month end, where another month would be charged. */
const SIGN = monthOf(Date.now()) === monthOf(Date.now() + 3 * HOUR_MS) ? 1 : -1;

/** Successive clock offsets: forward, back by more than an hour, forward by two hours, and back. */
const STEPS_MS = [2, 0.5, 2.5, 0].map((hours) => SIGN * hours * HOUR_MS);

/** Duration at each offset in ms, because Node caches the `Date` header for a second. */
const SERVED_MS = 1_500;

const stepped = suiteUnless(preloadLack())('when the wall clock of a service on a file steps');

let place = '';
let clock: WallClock;
let life: Life;
const seenMs: number[] = [];
/** Acknowledged changes after each step. */
const answered: number[] = [];
let result: SurvivorResult;

function monthOf(ms: number): number {
  return new Date(ms).getUTCMonth();
}

function answeredChanges({ calls }: CallLog): number {
  return calls.filter(
    ({ outcome, requested }) => outcome.kind === 'acknowledged' && requested.kind !== 'read',
  ).length;
}

/** Offset of the service's clock in milliseconds, from a `Date` header. */
async function aheadOf(origin: string): Promise<number> {
  const { headers } = await fetch(`${origin}/v1/personas`);
  return Date.parse(headers.get('date') ?? '') - Date.now();
}

stepped.before(async () => {
  place = await mkdtemp(join(tmpdir(), 'stepping-clock-'));
  clock = await WallClock.in(place);
  const file = join(place, 'identity.db');
  const service = await ServiceOnFile.on(file, clock.variables);
  await using lives = new AsyncDisposableStack();
  lives.defer(() => life.kill());
  life = service.start();
  await life.ready;
  const accounts = await limitedAccounts(life.adminUrl(), LOAD.quotas);
  const log = new CallLog();
  using caller = new EdgeCaller([service.origin]);
  const load = new Load({ log, caller, accounts, chance: new Chance(LOAD.seed) });
  await load.prepare(LOAD.instances);
  const running = load.run(LOAD.callsPerSecond);
  for (const [place, aheadMs] of STEPS_MS.entries()) {
    // Every second step happens after a crash, before the next start.
    const isBetween = place % 2 === 1;
    if (isBetween) await life.kill();
    clock.put(aheadMs);
    if (isBetween) life = service.start();
    await life.ready;
    await sleep(SERVED_MS);
    seenMs.push(await aheadOf(service.origin));
    answered.push(answeredChanges(log));
  }
  await Promise.all([load.stop(), running]);
  await life.stop();
  await using server = new FileServer();
  result = await checkSurvivor(server, { file, calls: log.calls, accounts });
});

stepped.after(async () => {
  await rm(place, { recursive: true, force: true });
});

stepped('the service uses the new time', () => {
  for (const [place, aheadMs] of STEPS_MS.entries()) {
    assert.ok(Math.abs((seenMs[place] ?? 0) - aheadMs) < 10_000, `${seenMs} for ${STEPS_MS}`);
  }
});

stepped('no acknowledged change is lost, applied twice or above the plan', () => {
  assert.equal(result.findings.lines, []);
  assert.ok(result.observations > 100, `only ${result.observations} observations were checked`);
  assert.ok(result.verified > LOAD.instances / 2, `only ${result.verified} heads were recomputed`);
});

stepped('the service acknowledges changes at every offset', () => {
  for (const [place, count] of answered.entries()) {
    const before = answered[place - 1] ?? 0;
    assert.ok(count - before >= CHANGES_MIN, `acknowledged changes: ${answered}`);
  }
});

stepped.run();
