import { shardOf } from '#cluster/shard-owners';
import { ownedShards } from '#ctl/cluster/snapshot';
import { type ClusterCommand, type ClusterPorts, NotFoundError } from '#ctl/command';
import { INSTANCE_ID } from '#ctl/command-line';
import { table } from '#ctl/printed-text';
import { Fault } from '#errors/fault';
import type { InstanceReport, UnstoredCycle } from '#grpc/admin';
import { MODELS } from '#identity/model';
import { MODE_KEYS } from '#identity/modes';
import { newReport } from '#identity/report';
import { isoTime } from '#stdlib/clock';
import { storedHistory } from '#storage/ports/chunks';
import {
  type HistoryRow,
  type InstanceHead,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';

/** Maximum cycles shown, newest first. */
const CYCLES_SHOWN = 10;

/**
 * `ctl instance`: shows the owner of an instance, its stored state, and its state in the engine's
 * memory.
 */
export const INSTANCE: ClusterCommand = {
  kind: 'cluster',
  words: ['instance'],
  summary: 'show owner, version and last cycles of an instance',
  description:
    'Shows owner, version and last cycles of an instance, and whether the instance is in memory.',
  args: [INSTANCE_ID],
  options: {},
  async run(ports, [id = '']) {
    const [head, owner] = await Promise.all([ports.instances.readHead(id), ownerOf(ports, id)]);
    // Read directly after the head: a trim or deletion in between would look like missing rows.
    const { rows, missing } = await newestStored(ports.instances, id, head);
    const inspected = await inspect(ports, owner.address, id);
    if (head === undefined && inspected?.active === undefined) {
      if (inspected !== undefined) throw new NotFoundError(`there is no instance ${id}`);
      const hint =
        ports.file === undefined
          ? 'its engine does not answer; check "ctl nodes"'
          : 'a running service stores new data within two minutes';
      throw new NotFoundError(`the stores have no instance ${id}: ${hint}`);
    }
    const data = {
      id,
      ...owner,
      is_served: inspected?.isServed,
      is_active: inspected === undefined ? undefined : inspected.active !== undefined,
      memory: memoryOf(inspected),
      stored: storedOf(head),
      rows_missing: missing === 0 ? undefined : missing,
      last_cycles: lastCycles(rows, inspected),
    };
    return { data, text: textOf(data) };
  },
};

async function ownerOf({ shards, journals }: ClusterPorts, id: string) {
  const { rows, shardCount } = await ownedShards({ shards }, 'engine');
  const shard = shardOf(id, shardCount);
  const row = rows.find((one) => one.shard === shard);
  const journal = row === undefined ? undefined : await journals.readHead(row.owner, 'quorum');
  return { shard, epoch: row?.epoch, incarnation: row?.owner, address: journal?.address };
}

/**
 * Reads the instance from its owner. Undefined if the owner does not answer or another process has
 * its address.
 */
async function inspect(
  { adminAt }: ClusterPorts,
  address: string | undefined,
  id: string,
): Promise<InstanceReport | undefined> {
  if (address === undefined) return undefined;
  try {
    return await adminAt(address).readInstance(id);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function memoryOf(inspected: InstanceReport | undefined) {
  const active = inspected?.active;
  if (active === undefined) return undefined;
  const { version, generation, cycle } = active;
  return { version, generation, cycle };
}

function storedOf(head: InstanceHead | undefined) {
  if (head === undefined) return undefined;
  return {
    account: head.accountId,
    name: head.name,
    version: head.version,
    generation: head.generation,
    cycle: cycleOf(head),
    observations: head.historyCount,
    drift_events: head.driftCount,
    created_at: isoTime(head.createdAtMs),
    updated_at: isoTime(head.updatedAtMs),
    deleted_at: head.deletedAtMs === undefined ? undefined : isoTime(head.deletedAtMs),
    model_version: head.modelVersion,
  };
}

/**
 * Cycle of the stored state. Undefined if only a newer release can read the state. 0 for a deleted
 * instance.
 */
function cycleOf({ modelVersion, model, deletedAtMs }: InstanceHead): number | undefined {
  if (deletedAtMs !== undefined) return 0;
  const report = newReport();
  const found = MODELS.find(modelVersion);
  found?.readReport(model, report);
  return found && report.snapshot.cycle;
}

/**
 * Reads the newest stored observations, and counts the missing rows among the head's newest rows.
 */
async function newestStored(
  instances: InstanceStore,
  id: string,
  head: InstanceHead | undefined,
): Promise<{ rows: readonly HistoryRow[]; missing: number }> {
  if (head === undefined || head.deletedAtMs !== undefined) return { rows: [], missing: 0 };
  const newest = head.historyCount;
  const count = Math.min(CYCLES_SHOWN, newest - trimmedOf(head).history);
  const rows = await storedHistory(instances, id, head, { newest, count });
  return { rows, missing: count - rows.length };
}

/** Merges unstored cycles from the engine's memory with stored cycles, newest first. */
function lastCycles(stored: readonly HistoryRow[], inspected: InstanceReport | undefined) {
  const isStored = (cycle: UnstoredCycle) =>
    stored.some((row) => row.generation === cycle.generation && row.cycle === cycle.cycle);
  const unstored = (inspected?.active?.unstoredCycles ?? []).filter((cycle) => !isStored(cycle));
  const cycles = [
    ...unstored.map((cycle) => ({ ...cycle, is_stored: false })),
    ...stored.map((cycle) => ({ ...cycle, is_stored: true })),
  ];
  return cycles.slice(0, CYCLES_SHOWN).map((one) => ({
    generation: one.generation,
    cycle: one.cycle,
    mode: MODE_KEYS[one.mode] ?? String(one.mode),
    signal: one.signal,
    confidence: one.confidence,
    at: isoTime(one.timestampMs),
    is_stored: one.is_stored,
  }));
}

type InstanceData = Awaited<ReturnType<typeof ownerOf>> & {
  readonly id: string;
  readonly is_served: boolean | undefined;
  readonly is_active: boolean | undefined;
  readonly memory: ReturnType<typeof memoryOf>;
  readonly stored: ReturnType<typeof storedOf>;
  readonly rows_missing: number | undefined;
  readonly last_cycles: ReturnType<typeof lastCycles>;
};

function textOf(data: InstanceData): string {
  const { stored, memory, last_cycles } = data;
  const facts: [string, unknown][] = [
    ['instance', data.id],
    ['name', stored?.name],
    ['account', stored?.account],
    ['shard', `${data.shard} at epoch ${data.epoch ?? '-'}`],
    ['owner', `${data.incarnation ?? '-'} at ${data.address ?? '-'}`],
    ['served', data.is_served ?? 'the owner does not answer'],
    ['active', data.is_active],
    ['in memory', memory === undefined ? undefined : placeText(memory)],
    ['stored', stored === undefined ? 'not yet' : placeText(stored)],
    ['model', stored?.model_version],
    ['observations', stored?.observations],
    ['drift events', stored?.drift_events],
    ['rows missing', missingText(data)],
    ['created', stored?.created_at],
    ['updated', stored?.updated_at],
    ['deleted', stored?.deleted_at],
  ];
  const known = facts.filter(([, value]) => value !== undefined);
  const rows = known.map(([name, value]) => [name, String(value)]);
  if (last_cycles.length === 0) return table(['WHAT', 'VALUE'], rows);
  const headings = ['GENERATION', 'CYCLE', 'MODE', 'SIGNAL', 'CONFIDENCE', 'AT', 'STORED'];
  const cycles = last_cycles.map(
    ({ generation, cycle, mode, signal, confidence, at, is_stored }) => {
      return [generation, cycle, mode, signal, confidence, at, is_stored ? 'yes' : 'not yet'];
    },
  );
  return `${table(['WHAT', 'VALUE'], rows)}\n\n${table(headings, cycles)}`;
}

function missingText({ id, rows_missing }: InstanceData): string | undefined {
  if (rows_missing === undefined) return undefined;
  return `${rows_missing} of the newest observations: run "ctl verify ${id}"`;
}

type Place = Pick<InstanceHead, 'version' | 'generation'> & { readonly cycle: number | undefined };

function placeText({ version, generation, cycle }: Place): string {
  return `version ${version}, generation ${generation}, cycle ${cycle ?? 'unknown (newer model)'}`;
}
