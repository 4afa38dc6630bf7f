import { createState } from '#identity/state';
import {
  type AnswerRow,
  CHUNK_ROWS_MAX,
  type Chunk,
  type DriftRow,
  type HistoryRow,
  type InstanceCheckpoint,
  type InstanceHead,
  type InstanceStore,
  type PackedRows,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/ports/rows';

/** Head of this version. The model's energy identifies the version. */
export function headAt(version: number, fields: Partial<InstanceHead> = {}): InstanceHead {
  const modeStrengths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
  return {
    version,
    accountId: 'Acc0unt00001',
    name: `name ${version} \u{1f600}`,
    description: 'a "quoted" text\nof two lines',
    createdAtMs: 1_768_478_400_123,
    updatedAtMs: 1_768_478_400_123 + version,
    deletedAtMs: undefined,
    originMs: 1_768_478_400_123,
    observedAtMs: undefined,
    generation: 1,
    historyCount: version,
    historyStart: 0,
    driftCount: version,
    driftStart: 0,
    newestHistory: { after: version, rows: '' },
    newestDrift: { after: version, rows: '' },
    modelVersion: '1.0',
    model: createState({ modeStrengths, energyLevel: 1 / (version + 2) }),
    recentCalls: [
      { callId: 2 ** 53 - version, version, atMs: 1_768_478_400_123 + version },
      { callId: 7, version: version - 1, atMs: 1_768_478_400_000 },
    ],
    ...fields,
  };
}

/** Tombstone of a deletion at `version`. */
export function markerAt(version: number): InstanceHead {
  return headAt(version, { name: '', description: '', deletedAtMs: 1_768_478_500_000 });
}

/** History rows with ordinals `first` to `last`. */
export function historyRows(first: number, last: number): HistoryRow[] {
  return ordinals(first, last).map((ordinal) => ({
    ordinal,
    generation: 1 + (ordinal % 3),
    cycle: ordinal,
    mode: ordinal % 7,
    signal: 1 / ordinal,
    confidence: 0.1 + 0.2,
    contextJson: `{"n":${ordinal},"text":"é\u{1f600}"}`,
    timestampMs: 1_768_478_400_000 + ordinal * 1_000,
  }));
}

/** Drift rows with ordinals `first` to `last`. */
export function driftRows(first: number, last: number): DriftRow[] {
  return ordinals(first, last).map((ordinal) => ({
    ordinal,
    generation: 1 + (ordinal % 3),
    cycle: 2 * ordinal,
    level: 'D1',
    deviationJson: `{"description":"departure ${ordinal}"}`,
    affectedModesJson: '["order"]',
    isRolledBack: ordinal % 2 === 0,
    timestampMs: 1_768_478_400_000 + ordinal * 2_000,
  }));
}

/** Splits rows into chunks of at most `length`. */
export function chunksOf<Row extends { readonly ordinal: number }>(
  packing: { readonly pack: (row: Row) => PackedRows },
  rows: readonly Row[],
  length = CHUNK_ROWS_MAX,
): Chunk[] {
  const chunks: Chunk[] = [];
  for (let from = 0; from < rows.length; from += length) {
    const own = rows.slice(from, from + length);
    const [first = 0, last = 0] = [own[0]?.ordinal, own.at(-1)?.ordinal];
    chunks.push({ first, last, rows: own.map(packing.pack).join('') });
  }
  return chunks;
}

/** History rows with ordinals `first` to `last`, in chunks. */
export function historyChunks(first: number, last: number): Chunk[] {
  return chunksOf(OBSERVATIONS, historyRows(first, last));
}

/** Drift rows with ordinals `first` to `last`, in chunks. */
export function driftChunks(first: number, last: number): Chunk[] {
  return chunksOf(DRIFT_EVENTS, driftRows(first, last));
}

/** A stored answer. */
export function answerRow(key: string, atMs: number, fields: Partial<AnswerRow> = {}): AnswerRow {
  const body = `{"data":{"key":"${key}"}}`;
  return {
    key,
    fingerprint: 'f'.repeat(64),
    body,
    etag: '"snap_0123456789abcdef"',
    atMs,
    ...fields,
  };
}

function ordinals(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}

/** Number of rows in a long history, beyond the size of one partition. */
export const LONG = 9_000;

/** A checkpoint without its instance id. */
export type OneCheckpoint = Omit<InstanceCheckpoint, 'instanceId'>;

/** Stores the checkpoint of one instance. */
export async function storeOne(
  store: Pick<InstanceStore, 'checkpoint'>,
  instanceId: string,
  checkpoint: OneCheckpoint,
): Promise<void> {
  await store.checkpoint([{ instanceId, ...checkpoint }]);
}

/** Checkpoint of this version. By default it contains only a head. */
export function checkpointAt(version: number, parts: Partial<OneCheckpoint> = {}): OneCheckpoint {
  return { head: headAt(version), history: [], drift: [], answers: [], ...parts };
}
