import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { activeInstances, untilStored } from '#bench/measures/gauges';
import { Inspector, type MemoryUse } from '#bench/measures/inspector';
import { BYTES_PER_MIB, mebibytes, numberText } from '#bench/measures/statistics';
import { atMost, figure, type Part, type Table } from '#bench/page/part';
import { startOnFile } from '#bench/processes/file-service';
import { temporaryFolder } from '#bench/processes/temporary-folder';

/** Number of instances before the first measurement, so that code and tables are in memory. */
const WARM_UP_INSTANCES = 1_000;

/** Maximum live bytes of an idle instance in memory. Source: the project's targets. */
const INSTANCE_BYTES_MAX = 1_229;

// 45 s idle: call ids expire after 20 s, and the run waits for pending checkpoints.
const FULL: MemoryRun = { instances: 100_000, idleS: 45 };
const QUICK: MemoryRun = { instances: 5_000, idleS: 2, isStored: false };

/** Memory of idle instances in a process on one file. */
export const instances: Part = {
  name: 'instances',
  group: 'memory',
  title: 'Memory of instances',
  about:
    'The benchmark adds instances to a warm process on one SQLite file, and sends two observations ' +
    'to each. The file has the stored rows and the audit trail, so live memory is the memory of the ' +
    'actors and of the list of instances. Live memory is what garbage collection keeps. Resident ' +
    'memory is what the process occupies.',
  async measure({ isQuick, print }) {
    const found = await measureMemory(isQuick ? QUICK : FULL, print);
    const added = numberText(found.instances, 0);
    const [first, , , last] = found.stages;
    const resident = ((last?.residentBytes ?? 0) - (first?.residentBytes ?? 0)) / found.instances;
    return {
      figures: [
        atMost(
          `live memory of an idle instance, mean of ${added}`,
          found.bytesPerInstance,
          INSTANCE_BYTES_MAX,
          'bytes',
        ),
        figure('active instances at the end', numberText(found.active, 0)),
      ],
      tables: [
        {
          name: 'Bytes each',
          columns: [{ name: 'live bytes' }, { name: 'resident bytes with its row' }],
          rows: [
            { name: 'idle instance', cells: [found.bytesPerInstance, resident].map(Math.round) },
            { name: 'additional history row', cells: [Math.round(found.bytesPerRow), ''] },
          ],
        },
        stageTable(found),
      ],
    };
  },
};

function stageTable({ stages }: MemoryResult): Table {
  const mib = (bytes: number) => Number((bytes / BYTES_PER_MIB).toFixed(1));
  return {
    name: 'Memory by stage',
    columns: [
      { name: 'resident MiB' },
      { name: 'resident MiB after collection' },
      { name: 'live MiB (heap, buffers)', decimals: 1 },
    ],
    rows: stages.map(({ title, uncollectedBytes, residentBytes, liveBytes }) => ({
      name: title,
      cells: [uncollectedBytes, residentBytes, liveBytes].map(mib),
    })),
  };
}

/** Size of a memory measurement. */
type MemoryRun = {
  readonly instances: number;
  /** Seconds without requests before idle instances are measured. */
  readonly idleS: number;
  /** Whether to wait for all checkpoints, which are up to two minutes late. Default: yes. */
  readonly isStored?: boolean;
};

/** Memory at one stage of the run. */
type MemoryStage = MemoryUse & {
  readonly title: string;
  /** Resident bytes before garbage collection. */
  readonly uncollectedBytes: number;
};

/** Memory cost of instances. */
type MemoryResult = {
  readonly instances: number;
  readonly stages: readonly MemoryStage[];
  /** Number of instances in memory at the last stage. */
  readonly active: number;
  /** Live bytes of a history row, which one more cycle adds to an idle instance. */
  readonly bytesPerRow: number;
  /** Live bytes of an idle instance in memory, without its history row. */
  readonly bytesPerInstance: number;
};

/**
 * Measures the memory of instances in a standalone process. Creates instances and sends two
 * observations to each. Collects garbage and measures after each step. The second observation adds
 * exactly one history row.
 */
async function measureMemory(run: MemoryRun, print: (line: string) => void): Promise<MemoryResult> {
  const file = join(temporaryFolder(), 'service.db');
  await using service = await startOnFile(file, ['--inspect=127.0.0.1:0']);
  using inspector = await Inspector.connect(service.process);
  using caller = new HttpCaller(service.address, service.key);
  const stages: MemoryStage[] = [];
  const stage = async (title: string): Promise<number> => {
    const { residentBytes } = await inspector.memory();
    const use = await inspector.memoryAfterCollection();
    stages.push({ title, ...use, uncollectedBytes: residentBytes });
    print(`memory: ${title}: ${mebibytes(residentBytes)} resident`);
    return use.liveBytes;
  };

  const idle = async () => {
    await sleep(run.idleS * 1_000);
    if (run.isStored ?? true) await untilStored(service.metricsUrls, print);
  };

  await observeEach(caller, await create(caller, WARM_UP_INSTANCES), 1);
  const empty = await stage(`with ${WARM_UP_INSTANCES} instances`);
  const ids = await create(caller, run.instances);
  await stage('created');
  await observeEach(caller, ids, 1);
  await stage('each processed once');
  await idle();
  const once = await stage(`idle for ${run.idleS} s`);
  await observeEach(caller, ids, 2);
  await idle();
  const twice = await stage(`each processed twice, idle for ${run.idleS} s`);

  const bytesPerRow = (twice - once) / run.instances;
  const bytesPerInstance = (once - empty) / run.instances - bytesPerRow;
  const active = await activeInstances(service.metricsUrls);
  return { instances: run.instances, stages, active, bytesPerRow, bytesPerInstance };
}

function create(caller: HttpCaller, count: number): Promise<string[]> {
  return caller.sendAll(
    count,
    (i) => ({ method: 'POST', path: '/v1/instances', body: `{"name":"agent ${i}"}` }),
    (answer) => String(at(answer, ['data', 'id'])),
  );
}

/** Sends an observation to every instance and checks that the answer has `cycle`. */
async function observeEach(
  caller: HttpCaller,
  ids: readonly string[],
  cycle: number,
): Promise<void> {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, cycle)).toISOString();
  const body = JSON.stringify({ mode_target: 'ORDER', signal_strength: 0.6, timestamp });
  await caller.sendAll(
    ids.length,
    (i) => ({ method: 'POST', path: `/v1/instances/${ids[i]}/process`, body }),
    (answer) => {
      const made = at(answer, ['data', 'snapshot', 'cycle']);
      if (made !== cycle) throw new Error(`expected cycle ${cycle}, got ${made}`);
    },
  );
}
