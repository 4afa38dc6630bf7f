import { startDurable } from '#bench/durable/service';
import { unflushedRecords, untilStored } from '#bench/measures/gauges';
import { numberText } from '#bench/measures/statistics';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { verdict } from '#bench/report-table';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { latenciesOf, latenciesText } from '#bench/scale/rates/latencies';
import { figure, type ScaleFigure, type ScalePart } from '#bench/scale/scale-part';
import { type Engine, EngineFleet } from '#bench/scale/takeovers/engine-fleet';

const INSTANCES = 100_000;
const INSTANCES_QUICK = 1_000;

/** Instances observed right after a start, and the number in flight. */
const OBSERVED = 2_000;
const OBSERVED_QUICK = 200;
const AT_ONCE = 32;

/** Instances with an unflushed record at the kill. The table reports the actual number. */
const TAIL = 20_000;
const TAIL_QUICK = 200;

/** Maximum time from readiness to the first answer, in ms. Source: the project's targets. */
const FIRST_MS_MAX = 500;

/** Maximum latency of the following answers, in ms. Source: the project's targets. */
const LONGEST_MS_MAX = 1_000;

/** Timing of a start as a caller sees it, in ms. */
type Start = {
  /** Time from process start to readiness. */
  readonly readyMs: number;
  readonly firstMs: number;
  /** Latency of each answer after the first. */
  readonly answersMs: readonly number[];
};

/** Time until the only engine answers after a restart, with many instances and a tail. */
export const restart: ScalePart = {
  name: 'restart',
  title: 'Restart of the only engine',
  columns: ['after SIGTERM', 'after SIGKILL'],
  async measure({ isQuick, print }) {
    const count = isQuick ? INSTANCES_QUICK : INSTANCES;
    const observed = isQuick ? OBSERVED_QUICK : OBSERVED;
    const tail = isQuick ? TAIL_QUICK : TAIL;
    await using service = await startDurable({ engines: 1, folder: temporaryFolder(), print });
    using instances = new ObservedInstances(service, print);
    const fleet = new EngineFleet(service);
    // A quick run does not wait two minutes for checkpoints.
    const storedAll = async () => {
      if (!isQuick) await untilStored(service.metricsUrls, print);
    };
    await instances.create(count);
    await instances.observeEach(Array.from({ length: count }, (_, i) => i));
    await storedAll();
    const engine = engineOf(fleet);

    const stoppingMs = performance.now();
    engine.child.kill('SIGTERM');
    await engine.child.ended();
    const stoppedMs = performance.now() - stoppingMs;
    print(`stopped in ${stoppedMs.toFixed(0)} ms`);
    const stopped = await startedAgain(fleet, instances, observed);
    print(lineOf(stopped));

    await storedAll();
    const touched = numbersOf(count, tail);
    await instances.observeEach(touched);
    const unflushed = await unflushedRecords(service.metricsUrls);
    engineOf(fleet).child.kill('SIGKILL');
    await engineOf(fleet).child.ended();
    print(`killed with ${unflushed} records without a checkpoint`);
    const killed = await startedAgain(fleet, instances, observed);
    print(lineOf(killed));
    await instances.prove(touched);

    const name = count.toLocaleString('en');
    return [
      rowOf(`time from SIGTERM to the end of the process, with ${name} instances, ms`, [
        stoppedMs.toFixed(0),
        '-',
      ]),
      rowOf('records without a checkpoint', ['-', unflushed.toLocaleString('en')]),
      ...figuresOf([stopped, killed]),
    ];
  },
};

/** Restarts the engine. When the engine is ready, observes `observed` + 1 different instances. */
async function startedAgain(
  fleet: EngineFleet,
  instances: ObservedInstances,
  observed: number,
): Promise<Start> {
  const startedMs = performance.now();
  await fleet.startAgain(0);
  const readyMs = performance.now() - startedMs;
  const [first = 0, ...rest] = numbersOf(instances.ids.length, observed + 1);
  await instances.observe(first);
  const firstMs = performance.now() - startedMs;
  const waiting = rest.values();
  const answersMs: number[] = [];
  const caller = async (): Promise<void> => {
    for (const instance of waiting) {
      const sentMs = performance.now();
      await instances.observe(instance);
      answersMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  return { readyMs, firstMs, answersMs };
}

/** `count` distinct random instance numbers. */
function numbersOf(instances: number, count: number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(Math.floor(Math.random() * instances));
  return [...chosen];
}

function engineOf({ engines: [engine] }: EngineFleet): Engine {
  if (engine === undefined) throw new Error('the service started no engine');
  return engine;
}

function lineOf({ readyMs, firstMs, answersMs }: Start): string {
  const { p50, p99, longest } = latenciesOf(answersMs);
  const [ready, first, middle, high, last] = [readyMs, firstMs, p50, p99, longest].map(
    (ms) => `${ms.toFixed(0)} ms`,
  );
  return `ready ${ready}, first answer ${first}, then p50 ${middle}, p99 ${high}, longest ${last}`;
}

/** A row for each figure, with a cell for SIGTERM and a cell for SIGKILL. */
function figuresOf(starts: readonly [Start, Start]): ScaleFigure[] {
  const row = (what: string, cell: (start: Start) => string) => rowOf(what, starts.map(cell));
  const limited = (
    what: string,
    cell: (start: Start) => string,
    isMet: (start: Start) => boolean,
  ): ScaleFigure => ({
    ...row(what, (start) => (isMet(start) ? cell(start) : `${cell(start)}, ${verdict(false)}`)),
    isMet: starts.every(isMet),
  });
  const longest = LONGEST_MS_MAX.toLocaleString('en');
  return [
    row('time from start to ready, ms', ({ readyMs }) => readyMs.toFixed(0)),
    row('time from start to the first answer, ms', ({ firstMs }) => firstMs.toFixed(0)),
    limited(
      `time from ready to the first answer, ms; target ≤ ${FIRST_MS_MAX}`,
      ({ readyMs, firstMs }) => (firstMs - readyMs).toFixed(0),
      ({ readyMs, firstMs }) => firstMs - readyMs <= FIRST_MS_MAX,
    ),
    limited(
      `latency of the first calls to ${numberText(starts[0].answersMs.length, 0)} other instances: p50, p99, longest, ms; target longest ≤ ${longest}`,
      ({ answersMs }) => latenciesText(latenciesOf(answersMs)),
      ({ answersMs }) => latenciesOf(answersMs).longest <= LONGEST_MS_MAX,
    ),
  ];
}

function rowOf(what: string, cells: readonly string[]): ScaleFigure {
  return { ...figure(what, ''), cells };
}
