import { z } from 'zod';
import type { Demand } from '#loadtest/k6/profile';
import { type Phase, phasesOf } from '#loadtest/k6/profile';
import { PROCESS_ROUTE } from '#loadtest/k6/slo';

/** Interval between progress lines, in milliseconds. */
const PRINT_EVERY_MS = 5_000;

/** Timeout of k6's progress API in milliseconds; k6 answers from memory. */
const ANSWER_MS_MAX = 2_000;

const Status = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      attributes: z.object({ sample: z.record(z.string(), z.number()) }),
    }),
  ),
});

/** Prints the progress of a load and runs the planned actions, until disposed. */
export type LoadClock = Disposable & {
  /** Starts the clock. Must be called after setup. */
  begin(): void;
  /** Stops the clock. Must be called before teardown. */
  end(): void;
};

/** Parameters of progress reports. */
export type Watch = {
  readonly demand: Demand;
  /** Address of k6's progress API: `127.0.0.1:port`. */
  readonly address: string;
  readonly print: (line: string) => void;
  readonly acts: readonly PlannedAct[];
};

/** An action at the start of a phase. */
export type PlannedAct = { readonly phase: string; readonly act: () => void };

/** Creates a progress reporter. The clock of the reporter starts with `begin`. */
export function watchLoad(watch: Watch): LoadClock {
  const phases = phasesOf(watch.demand);
  const ending = new DisposableStack();
  return {
    begin() {
      const startedMs = performance.now();
      const printer = setInterval(() => {
        const second = (performance.now() - startedMs) / 1_000;
        lineAt(watch, phases, second).then(watch.print, () => undefined);
      }, PRINT_EVERY_MS);
      ending.defer(() => clearInterval(printer));
      for (const { phase, act } of watch.acts) {
        const timer = setTimeout(act, startOf(phases, phase) * 1_000);
        ending.defer(() => clearTimeout(timer));
      }
    },
    end: () => ending.dispose(),
    [Symbol.dispose]: () => ending.dispose(),
  };
}

/** Seconds from the start of a load to the start of a phase. */
function startOf(phases: readonly Phase[], name: string): number {
  const before = phases.slice(
    0,
    phases.findIndex((phase) => phase.name === name),
  );
  return before.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Phase at a second of the load; undefined after the last phase. */
function phaseAt(phases: readonly Phase[], second: number): Phase | undefined {
  let end = 0;
  return phases.find(({ seconds }) => {
    end += seconds;
    return second < end;
  });
}

async function lineAt(watch: Watch, phases: readonly Phase[], second: number): Promise<string> {
  const samples = await samplesAt(watch.address);
  const count = (metric: string): number => samples.get(metric)?.['count'] ?? 0;
  const requests = samples.get(`http_req_duration{name:${PROCESS_ROUTE},part:load}`);
  const total = Math.round(watch.demand.seconds);
  const phase = phaseAt(phases, second)?.name.replaceAll('_', ' ') ?? 'ending';
  const answered = samples.get('available')?.['rate'] ?? 1;
  return [
    `${Math.round(second)} of ${total} s, ${phase}: ${count('iterations')} requests`,
    `process p95 ${(requests?.['p(95)'] ?? 0).toFixed(0)} ms`,
    `${((1 - answered) * 100).toFixed(2)} % not answered`,
    `${count('dropped_iterations')} dropped`,
  ].join(', ');
}

/** Current metrics of k6, by selector. */
async function samplesAt(address: string): Promise<Map<string, Record<string, number>>> {
  const url = `http://${address}/v1/metrics`;
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  const { data } = Status.parse(await response.json());
  return new Map(data.map(({ id, attributes }) => [id, attributes.sample]));
}
