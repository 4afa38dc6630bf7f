import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { freePort } from '#deploy/local/servers/free-port';
import { type Demand, isSteady, phasesOf } from '#loadtest/k6/profile';
import { killPhaseOf } from '#loadtest/k6/slo';
import type { ProcessUsage, Summarized } from '#loadtest/k6/text-summary';
import type { Metrics } from '#loadtest/k6/verdict';
import { runK6 } from '#loadtest/k6-run';
import { type PlannedAct, watchLoad } from '#loadtest/load-progress';
import { killAnEngine } from '#loadtest/processes/kill-engine';
import { pidsOf, type Usage, usageBetween, usageOf } from '#loadtest/processes/process-usage';
import { ProcessWatch } from '#loadtest/processes/process-watch';
import { type Readings, readRepeatedly } from '#loadtest/processes/readings';
import type { Reading } from '#loadtest/processes/slopes';
import type { Target } from '#loadtest/target';

/** Parameters for starting k6. */
export type K6Start = {
  readonly program: string;
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
};

/** Result of a load. */
export type SentLoad = {
  readonly metrics: Metrics;
  /** Reasons to void the run. */
  readonly faults: readonly string[];
  readonly events: NonNullable<Summarized['circumstances']>;
  readonly usage: readonly ProcessUsage[];
  /** Readings of resource usage under a constant load; empty for other loads. */
  readonly readings: readonly Reading[];
};

/** Interval between process checks in ms. A restarted process has another id. */
const CHECK_INTERVAL_MS = 10_000;

/** Sends a load with k6 and prints progress. Kills an engine if the profile requires a kill. */
export async function sendLoad(
  k6: K6Start,
  { cluster }: Target,
  { demand, print }: { readonly demand: Demand; readonly print: (line: string) => void },
): Promise<SentLoad> {
  const address = `127.0.0.1:${await freePort()}`;
  const events: (readonly [string, string])[] = [];
  let before = new Map<string, Usage>();
  let usage: readonly ProcessUsage[] = [];
  let readings: Readings | undefined;
  const acts: PlannedAct[] = [];
  const killPhase = killPhaseOf(demand.name);
  using watch = watchProcesses(cluster);
  if (cluster !== undefined) {
    const judged = phasesOf(demand).find(({ isJudged }) => isJudged)?.name ?? '';
    const act = (): void => {
      before = usageOf(cluster);
    };
    acts.push({ phase: judged, act });
  }
  if (cluster !== undefined && killPhase !== undefined) {
    const act = (): void => {
      const { name, pid } = killAnEngine(cluster);
      watch.killed(pid);
      events.push(['Killed', `${name} (process ${pid}), at the start of ${killPhase}`]);
      print(`killed ${name} (process ${pid})`);
    };
    acts.push({ phase: killPhase, act });
  }
  using clock = watchLoad({ demand, address, print, acts });
  const { metrics, faults } = await runK6({
    ...k6,
    ...{ address, print },
    onBegin: () => {
      clock.begin();
      if (isSteady(demand) && cluster !== undefined) readings = readRepeatedly(cluster);
    },
    onEnd: () => {
      clock.end();
      readings?.[Symbol.dispose]();
      watch[Symbol.dispose]();
      if (cluster !== undefined) usage = usageBetween(before, usageOf(cluster));
    },
  });
  // Void the run if the planned kill did not happen.
  const isUndisturbed = killPhase !== undefined && events.length === 0;
  const all = [
    ...faults,
    ...(isUndisturbed ? ['no engine was killed'] : []),
    ...watch.ended.map((name) => `${name} ended during the run`),
  ];
  return { metrics, faults: all, events, usage, readings: readings?.all ?? [] };
}

/** Checks the processes of a cluster periodically, and for the last time when disposed. */
function watchProcesses(cluster: ClusterPlan | undefined) {
  const running = () => (cluster === undefined ? new Map<string, number>() : pidsOf(cluster));
  const watch = new ProcessWatch(running());
  const timer = setInterval(() => watch.look(running()), CHECK_INTERVAL_MS);
  let isOver = false;
  return Object.assign(watch, {
    [Symbol.dispose]() {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      watch.look(running());
    },
  });
}
