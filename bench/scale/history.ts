import { type DurableService, startDurable } from '#bench/durable/service';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { cpuMicros } from '#bench/measures/cpu-time';
import { untilStoredIn } from '#bench/measures/gauges';
import { Inspector } from '#bench/measures/inspector';
import { mebibytes } from '#bench/measures/statistics';
import { figure, type Part } from '#bench/page/part';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { BATCH, LongHistory } from '#bench/scale/long-history';
import { pageFigure, timed } from '#bench/scale/rates/latencies';
import { rateFigure, ratesOf } from '#bench/scale/rates/steady-rate';

/** Rows per page: the API's default. */
const PAGE_ROWS = 100;

const FULL = { observations: 1_000_000, pages: 500 };
const QUICK = { observations: 10_000, pages: 20 };

/** Rate of a million observations of an instance, and latency of history pages at any depth. */
export const history: Part = {
  name: 'history',
  group: 'growth',
  title: 'One instance of 1,000,000 observations',
  about:
    'Batches of 100 observations grow the history of one instance. Then pages are read from random depths.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const size = isQuick ? QUICK : FULL;
    const nodeArgs = ['--inspect=127.0.0.1:0'];
    const plan = { engines: 1, folder: temporaryFolder(), nodeArgs, print };
    await using service = await startDurable(plan);
    const engine = engineOf(service);
    using inspector = await Inspector.connect(engine);
    using caller = new HttpCaller(service.address, service.key);
    const created = await caller.send({
      method: 'POST',
      path: '/v1/instances',
      body: '{"name":"long"}',
    });
    const long = new LongHistory(caller, String(at(created, ['data', 'id'])), size.observations);

    const cpu = new TenthsOfCpu(engine.pid, size.observations / BATCH);
    const taken = await long.fill((batches) => cpu.note(batches), print);
    const { residentBytes: afterLoad } = await inspector.memory();
    const cpuPerObservation = await cpu.micros();
    print(`${taken.overtaken} batches arrived after a later batch and were sent again`);
    const { ms: storedMs } = await timed(async () => {
      await untilStoredIn({ isQuick, print }, service.metricsUrls);
    });
    print('reading pages');
    const times = await readPages(long, size.pages);
    const { residentBytes, liveBytes } = await inspector.memoryAfterCollection();

    const [first = 0, last = 0] = [cpuPerObservation[0], cpuPerObservation.at(-1)];
    const figures = [
      rateFigure(
        'rate of observations in the last tenth of the run',
        ratesOf(taken.answeredMs),
        BATCH,
      ),
      figure(
        'engine CPU per observation in the first tenth, and in the last tenth',
        `${(first / BATCH).toFixed(1)} µs, then ${(last / BATCH).toFixed(1)} µs`,
      ),
      figure('longest latency of a batch of 100 observations', `${taken.longestMs.toFixed(0)} ms`),
      figure(
        'time from the last answer until every record has a checkpoint',
        `${(storedMs / 1_000).toFixed(1)} s`,
      ),
      pageFigure(`latency of a page of ${PAGE_ROWS} rows at a random depth`, times),
      figure(
        'engine memory: resident at the last batch; resident after garbage collection; live',
        [afterLoad, residentBytes, liveBytes].map((bytes) => mebibytes(bytes)).join('; '),
      ),
    ];
    return { figures };
  },
};

/**
 * Reads the newest page, the oldest page and random pages, sequentially. Returns the times in ms.
 */
async function readPages(long: LongHistory, pages: number): Promise<number[]> {
  const times: number[] = [];
  for (let page = 0; page < pages; page += 1) {
    const deepest = long.total - PAGE_ROWS;
    const offset =
      page === 0 ? 0 : page === 1 ? deepest : Math.floor(Math.random() * (deepest + 1));
    const { ms, answer } = await timed(() => long.read(PAGE_ROWS, offset));
    long.check(answer, PAGE_ROWS, offset);
    times.push(ms);
  }
  return times;
}

/** CPU time of a process per tenth of its calls. */
class TenthsOfCpu {
  readonly #pid: number;
  readonly #callsPerTenth: number;
  readonly #marks: Promise<number>[];

  constructor(pid: number, calls: number) {
    this.#pid = pid;
    this.#callsPerTenth = Math.floor(calls / 10);
    this.#marks = [cpuMicros(pid)];
  }

  note(calls: number): void {
    if (calls % this.#callsPerTenth === 0) this.#marks.push(cpuMicros(this.#pid));
  }

  /** CPU time per call in µs, for each tenth. */
  async micros(): Promise<number[]> {
    const marks = await Promise.all(this.#marks);
    return marks.slice(1).map((mark, i) => (mark - (marks[i] ?? 0)) / this.#callsPerTenth);
  }
}

function engineOf({ engines: [engine] }: DurableService) {
  if (engine === undefined) throw new Error('the service started no engine');
  return engine;
}
