import { startDurable } from '#bench/durable/service';
import { unflushedRecords, untilStoredIn } from '#bench/measures/gauges';
import { numberText } from '#bench/measures/statistics';
import { atMost, type Figure, type Findings, type Part } from '#bench/page/part';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { type Engine, EngineFleet } from '#bench/scale/fail-over/engine-fleet';
import { ObservedInstances } from '#bench/scale/observed-instances';
import { latenciesOf, latenciesText } from '#bench/scale/rates/latencies';

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
export const restart: Part = {
  name: 'restart',
  group: 'fail-over',
  isLong: true,
  title: 'Restart of the only engine',
  about: 'The engine has 100,000 instances. Times begin with the start of the new process.',
  missed: 'The restart reads all records that no checkpoint contains.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const count = isQuick ? INSTANCES_QUICK : INSTANCES;
    const observed = isQuick ? OBSERVED_QUICK : OBSERVED;
    const tail = isQuick ? TAIL_QUICK : TAIL;
    await using service = await startDurable({ engines: 1, folder: temporaryFolder(), print });
    using instances = new ObservedInstances(service, print);
    const fleet = new EngineFleet(service);
    const storedAll = () => untilStoredIn({ isQuick, print }, service.metricsUrls);
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

    return findingsOf({ stoppedMs, unflushed, stopped, killed });
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

type Found = {
  /** Time from SIGTERM to the end of the process. */
  readonly stoppedMs: number;
  /** Records without a checkpoint at the SIGKILL. */
  readonly unflushed: number;
  readonly stopped: Start;
  readonly killed: Start;
};

function findingsOf({ stoppedMs, unflushed, stopped, killed }: Found): Findings {
  const others = `first calls to ${numberText(stopped.answersMs.length, 0)} other instances`;
  const rowOf = (name: string, read: (start: Start) => number | string) => {
    return { name, cells: [read(stopped), read(killed)] };
  };
  return {
    figures: [...targetsOf('SIGTERM', stopped, others), ...targetsOf('SIGKILL', killed, others)],
    tables: [
      {
        name: '',
        columns: [{ name: 'after SIGTERM' }, { name: 'after SIGKILL' }],
        rows: [
          { name: 'time from SIGTERM to the end of the process, ms', cells: [stoppedMs, '-'] },
          { name: 'records without a checkpoint', cells: ['-', unflushed] },
          rowOf('time from start to ready, ms', ({ readyMs }) => readyMs),
          rowOf('time from start to the first answer, ms', ({ firstMs }) => firstMs),
          rowOf(`latency of the ${others}: p50, p99, longest, ms`, ({ answersMs }) =>
            latenciesText(latenciesOf(answersMs)),
          ),
        ],
      },
    ],
  };
}

function targetsOf(
  signal: string,
  { readyMs, firstMs, answersMs }: Start,
  others: string,
): Figure[] {
  const { longest } = latenciesOf(answersMs);
  const first = `time from ready to the first answer, after ${signal}`;
  return [
    atMost(first, firstMs - readyMs, FIRST_MS_MAX, 'ms'),
    atMost(`longest latency of the ${others}, after ${signal}`, longest, LONGEST_MS_MAX, 'ms'),
  ];
}
