import {
  ANSWER_AGE_MS,
  type AnswerRow,
  type DriftRow,
  type HistoryRow,
  type InstanceCheckpoint,
  type InstanceHead,
  type InstanceStore,
} from '#storage/instance-store';

type Stored = {
  head: InstanceHead;
  /** Index = ordinal − 1: rows come without gaps, because checkpoints come in order. */
  history: HistoryRow[] | undefined;
  drift: DriftRow[] | undefined;
  answers: Map<string, AnswerRow> | undefined;
};

/** Instances that are forgotten when the process ends (interface 1.8). */
export function memoryInstanceStore(): InstanceStore {
  const instances = new Map<string, Stored>();

  return {
    bucketOf: () => 0,
    async readHead(instanceId) {
      return instances.get(instanceId)?.head;
    },
    async readHeads(instanceIds) {
      const heads = new Map<string, InstanceHead>();
      for (const instanceId of instanceIds) {
        const head = instances.get(instanceId)?.head;
        if (head !== undefined) heads.set(instanceId, head);
      }
      return heads;
    },
    async checkpoint(checkpoints) {
      for (const checkpoint of checkpoints) store(instances, checkpoint);
    },
    async readHistory(instanceId, newest, count) {
      return rangeOf(instances.get(instanceId)?.history ?? [], newest, count);
    },
    async readDrift(instanceId, newest, count) {
      return rangeOf(instances.get(instanceId)?.drift ?? [], newest, count);
    },
    async findAnswer(instanceId, key, oldestMs) {
      const row = instances.get(instanceId)?.answers?.get(key);
      return row === undefined || row.atMs < oldestMs ? undefined : row;
    },
  };
}

function store(
  instances: Map<string, Stored>,
  { instanceId, head, history, drift, answers }: InstanceCheckpoint,
): void {
  const stored = instances.get(instanceId) ?? {
    head,
    history: undefined,
    drift: undefined,
    answers: undefined,
  };
  if (stored.head.version > head.version) return;
  instances.set(instanceId, stored);
  if (head.deletedAtMs === undefined) {
    stored.history = placed(stored.history, history);
    stored.drift = placed(stored.drift, drift);
    keep(stored, answers);
  } else {
    stored.history = undefined;
    stored.drift = undefined;
    stored.answers = undefined;
  }
  stored.head = head;
}

/** Rows with others added at their places; most instances have none, and then no list either. */
function placed<Row extends { ordinal: number }>(
  rows: Row[] | undefined,
  added: readonly Row[],
): Row[] | undefined {
  if (added.length === 0) return rows;
  if (rows === undefined && added[0]?.ordinal === 1) return added.slice();
  const all = rows ?? [];
  for (const row of added) all[row.ordinal - 1] = row;
  return all;
}

function rangeOf<Row>(rows: readonly Row[], newest: number, count: number): Row[] {
  return rows.slice(Math.max(0, newest - count), Math.max(0, newest)).reverse();
}

/** Adds answers, oldest first, and drops those that have expired. */
function keep(stored: Stored, added: readonly AnswerRow[]): void {
  if (added.length === 0) return;
  stored.answers ??= new Map();
  for (const row of added) {
    // A key that is used again goes to the young end.
    stored.answers.delete(row.key);
    stored.answers.set(row.key, row);
  }
  const newestMs = added.at(-1)?.atMs ?? 0;
  for (const [key, { atMs }] of stored.answers) {
    if (atMs >= newestMs - ANSWER_AGE_MS) break;
    stored.answers.delete(key);
  }
}
