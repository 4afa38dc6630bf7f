import { type ClusterCommand, type ClusterPorts, EXIT, NotFoundError } from '#ctl/command';
import { INSTANCE_ID } from '#ctl/command-line';
import { counted, table } from '#ctl/printed-text';
import { type Replay, verifyStored } from '#ctl/verify/heads';
import type { ReplayStart } from '#ctl/verify/replay';
import { TRIM_MS_MAX } from '#ctl/verify/trim-plan';
import { sleep } from '#stdlib/clock';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import { type InstanceHead, type InstanceStore, trimmedOf } from '#storage/ports/instances';

/** Pause between two reads of an instance, in milliseconds. */
const PAUSE_MS = 500;

/**
 * `ctl verify`: replays a stored history, compares the result with the head, and counts drift
 * events. Exit code 3 if they differ.
 */
export const VERIFY: ClusterCommand = {
  kind: 'cluster',
  words: ['verify'],
  summary: 'replay a stored history and compare',
  description:
    'Computes the state of an instance again from its stored history. Compares the result bit for bit with the stored state (the head) and between past states, and checks that no drift event is missing. If they differ, exits with 3.',
  args: [INSTANCE_ID],
  options: {},
  async run(ports, [id = '']) {
    const { head, replay } = await verified(ports, id);
    const data = {
      id,
      version: head.version,
      generation: head.generation,
      observations: head.historyCount,
      trimmed: trimmedOf(head).history,
      result: replay,
    };
    const headings = ['INSTANCE', 'VERSION', 'GENERATION', 'OBSERVATIONS', 'RESULT'];
    const result = replay.kind.replace('_', ' ');
    const lines = replay.kind === 'different' ? replay.differences : [];
    const text = [
      table(headings, [[id, head.version, head.generation, head.historyCount, result]]),
      '',
      explained(replay, head),
      ...lines.map((line) => `  ${line}`),
    ];
    return { data, text: text.join('\n'), exitCode: differs(replay) ? EXIT.differs : EXIT.done };
  },
};

/**
 * Reads the head and replays its rows. Retries if a deletion or trim removed rows meanwhile.
 */
async function verified(
  { instances, clock }: Pick<ClusterPorts, 'instances' | 'clock'>,
  id: string,
): Promise<{ head: InstanceHead; replay: Replay }> {
  const untilMs = clock.monotonicMs() + TRIM_MS_MAX;
  for (;;) {
    const head = await instances.readHead(id);
    if (head === undefined) {
      throw new NotFoundError(
        `${id} is not stored: a running service stores new instances within two minutes`,
      );
    }
    const replay = await verifyStored(instances, id, head);
    if (replay.kind !== 'different') return { head, replay };
    if (hasFewerRows(head, await instances.readHead(id))) continue;
    const isAtStart = await lacksFirst(instances, id, head);
    if (!isAtStart || clock.monotonicMs() >= untilMs) return { head, replay };
    await sleep(clock, PAUSE_MS);
  }
}

function hasFewerRows(before: InstanceHead, now: InstanceHead | undefined): boolean {
  if (now === undefined || before.deletedAtMs !== undefined) return false;
  return now.deletedAtMs !== undefined || trimmedOf(now).history > trimmedOf(before).history;
}

/**
 * Whether the oldest row of a table is missing. A trim deletes the oldest rows of both tables
 * before the new head is stored.
 */
async function lacksFirst(
  instances: InstanceStore,
  id: string,
  head: InstanceHead,
): Promise<boolean> {
  const below = trimmedOf(head);
  const lacks = async (
    newest: number,
    total: number,
    read: typeof storedHistory | typeof storedDrift,
  ) => newest <= total && (await read(instances, id, head, { newest, count: 1 })).length === 0;
  return (
    (await lacks(below.history + 1, head.historyCount, storedHistory)) ||
    (await lacks(below.drift + 1, head.driftCount, storedDrift))
  );
}

function differs(replay: Replay): boolean {
  return replay.kind === 'different' || (replay.kind === 'deleted' && replay.rows > 0);
}

function explained(replay: Replay, { generation }: InstanceHead): string {
  switch (replay.kind) {
    case 'same':
      return sameText(replay, generation);
    case 'different':
      return 'The head and the stored rows differ:';
    case 'unknown_start':
      return (
        `The rows are in order, but cannot prove the head: generation ${generation} began with ` +
        `the state of an older generation, and the rows of that generation are not stored.`
      );
    case 'deleted':
      return replay.rows === 0
        ? 'The instance is deleted, with all its history.'
        : `The instance is deleted, but ${replay.rows} of its rows are left.`;
    case 'other_model':
      return `Model ${replay.modelVersion} stored the head. This program does not have that model.`;
  }
}

function sameText({ start, since, cycles }: Extract<Replay, { kind: 'same' }>, generation: number) {
  const cyclesText = counted(cycles, 'observation');
  const covered =
    since === generation
      ? `${cyclesText} of generation ${generation}`
      : `${cyclesText} of generations ${since} to ${generation}`;
  return `The replay of ${covered} gives the head, bit for bit${trustIn(start)}.`;
}

function trustIn(start: ReplayStart): string {
  switch (start) {
    case 'kept':
      return '; the replay starts at the checkpoint that the head holds';
    case 'floor':
      return '; the replay starts at the state after the trimmed rows, which the head holds';
    case 'created':
    case 'initial':
    case 'default':
      return '';
  }
}
