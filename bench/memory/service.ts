import { captureAnswer } from '#bench/load/capture-answer';
import { runClosedRounds } from '#bench/load/closed-rounds';
import { checkLedger } from '#bench/measures/ledger';
import { comparedIn } from '#bench/page/comparison';
import type { Part } from '#bench/page/part';
import { type Label, prepareService, type Server, startReference } from '#bench/processes/servers';
import { startStandalone, startThreeProcesses } from '#bench/processes/service';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';

/** Numbers of connections. Source: the project's targets. */
const CONNECTIONS = [64, 4] as const;

// Five rounds: a single disturbed round does not change the median.
const FULL = { rounds: 5, secondsPerRun: 4, warmUpS: 6 };
const QUICK = { rounds: 1, secondsPerRun: 1, warmUpS: 1 };

const RATIOS = [
  { ours: 's', theirs: 'c', connections: 64, least: 1 },
  { ours: 'p', theirs: 'c', connections: 64, least: 0.7 },
  { ours: 's', theirs: 'c', connections: 4, least: 0.9 },
  { ours: 'p', theirs: 'c', connections: 4, least: 0.2 },
  { ours: 'sk', theirs: 's', connections: 64 },
  { ours: 'pk', theirs: 'p', connections: 64 },
] as const;

/** Throughput of the service in memory, compared with Fastify without state. */
export const service: Part = {
  name: 'service',
  group: 'memory',
  title: 'Observations in memory',
  about:
    'Each request is one observation. (c) is Fastify with ajv, which checks and answers the same ' +
    'bytes, but has no state, authentication, limiter or model. In rows with keys, each call has a ' +
    'new `Idempotency-Key`.',
  missed:
    'The profile of (s) is flat. HTTP and sockets take about half of the CPU, and (c) also needs ' +
    'them. The rest is model and answer, checks, parsing and limiter. In (p), most of the calls wait ' +
    'for the same process at the same time, so each process is often idle.',
  needs: ['wrk'],
  async measure({ isQuick, print, servers: wanted }) {
    const sizes = isQuick ? QUICK : FULL;
    const isWanted = (label: Label) => wanted?.has(label) ?? true;
    await using opened = new AsyncDisposableStack();
    const folder = temporaryFolder();
    print('starting the servers');
    // The standalone service is always needed: (c) sends its answer.
    const standalone = await prepareService('s', opened.use(await startStandalone()), folder);
    const { file: answerFile } = await captureAnswer(standalone, folder);
    const all: Server[] = [standalone, { ...standalone, label: 'sk', isKeyed: true }];
    if (isWanted('c')) all.unshift(opened.use(await startReference({ folder, answerFile })));
    if (isWanted('p') || isWanted('pk')) {
      const started = opened.use(await startThreeProcesses());
      const three = await prepareService('p', started, folder);
      all.push(three, { ...three, label: 'pk', isKeyed: true });
    }
    const servers = all.filter(({ label }) => isWanted(label));
    const rounds = await runClosedRounds(await findWrk(), {
      ...{ servers, connections: CONNECTIONS, sizes, print },
    });
    // Rows with and without keys share a server.
    for (const server of new Map(servers.map((each) => [each.plan, each])).values()) {
      await checkLedger(server);
    }
    return comparedIn(rounds, { ratios: RATIOS });
  },
};
