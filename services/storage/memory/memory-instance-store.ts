import type {
  AnswerRow,
  DriftRow,
  HistoryRow,
  InstanceHead,
  InstanceStore,
} from '#storage/instance-store';

type Stored = {
  head: InstanceHead;
  /** Index = ordinal − 1: rows come without gaps, because checkpoints come in order. */
  readonly history: HistoryRow[];
  readonly drift: DriftRow[];
  answers: Map<string, AnswerRow> | undefined;
};

/** Instances that are forgotten when the process ends (spec 1.8). */
export function memoryInstanceStore(): InstanceStore {
  const instances = new Map<string, Stored>();

  return {
    async readHead(instanceId) {
      const stored = instances.get(instanceId);
      return stored === undefined ? undefined : copyOf(stored.head);
    },
    async checkpoint(instanceId, { head, history, drift, answers }) {
      const stored = instances.get(instanceId) ?? {
        head,
        history: [],
        drift: [],
        answers: undefined,
      };
      if (stored.head.version > head.version) return;
      instances.set(instanceId, stored);
      if (head.deletedAtMs === undefined) {
        place(stored.history, history);
        place(stored.drift, drift);
        keep(stored, answers);
      } else {
        stored.history.length = 0;
        stored.drift.length = 0;
        stored.answers = undefined;
      }
      stored.head = copyOf(head);
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

function copyOf(head: InstanceHead): InstanceHead {
  return { ...head, model: head.model.slice() };
}

function place<Row extends { ordinal: number }>(rows: Row[], added: readonly Row[]): void {
  for (const row of added) rows[row.ordinal - 1] = row;
}

function rangeOf<Row>(rows: readonly Row[], newest: number, count: number): Row[] {
  return rows.slice(Math.max(0, newest - count), Math.max(0, newest)).reverse();
}

/** How long a stored answer is kept. Source: decision 22. */
const ANSWER_AGE_MS = 24 * 60 * 60 * 1_000;

/** Adds answers, oldest first, and lets go of those that nobody may be given any more. */
function keep(stored: Stored, added: readonly AnswerRow[]): void {
  if (added.length === 0) return;
  stored.answers ??= new Map();
  for (const row of added) stored.answers.set(row.key, row);
  const newestMs = added.at(-1)?.atMs ?? 0;
  for (const [key, { atMs }] of stored.answers) {
    if (atMs >= newestMs - ANSWER_AGE_MS) break;
    stored.answers.delete(key);
  }
}
