import { createState } from '#identity/state';
import type {
  AnswerRow,
  DriftRow,
  HistoryRow,
  InstanceCheckpoint,
  InstanceHead,
  InstanceStore,
} from '#storage/instance-store';

/** A head at a version; the model's energy distinguishes versions. */
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
    modelVersion: '1.0',
    model: createState({ modeStrengths, energyLevel: 1 / (version + 2) }),
    recentCalls: [
      { callId: 2 ** 53 - version, version, atMs: 1_768_478_400_123 + version },
      { callId: 7, version: version - 1, atMs: 1_768_478_400_000 },
    ],
    ...fields,
  };
}

/** The marker that a deletion at `version` leaves. */
export function markerAt(version: number): InstanceHead {
  return headAt(version, { name: '', description: '', deletedAtMs: 1_768_478_500_000 });
}

/** The history rows with ordinals `first` to `last`. */
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

/** The drift rows with ordinals `first` to `last`. */
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

/** Rows of a long history: more than any store keeps in one place. */
export const LONG = 9_000;

/** A checkpoint, whatever its instance. */
export type OneCheckpoint = Omit<InstanceCheckpoint, 'instanceId'>;

/** Stores the checkpoint of one instance. */
export async function storeOne(
  store: Pick<InstanceStore, 'checkpoint'>,
  instanceId: string,
  checkpoint: OneCheckpoint,
): Promise<void> {
  await store.checkpoint([{ instanceId, ...checkpoint }]);
}

/** A checkpoint at a version with nothing but its head. */
export function checkpointAt(version: number, parts: Partial<OneCheckpoint> = {}): OneCheckpoint {
  return { head: headAt(version), history: [], drift: [], answers: [], ...parts };
}
