import { type ClusterCommand, type ClusterPorts, CtlError } from '#ctl/command';
import { type Replay, storedRows, verifyHead } from '#ctl/head-verification';
import { table } from '#ctl/table';
import type { InstanceHead } from '#storage/instance-store';

/** `ctl verify`: whether a stored history, run again, comes to its head. Ends with 1 if not. */
export const VERIFY: ClusterCommand = {
  kind: 'cluster',
  words: ['verify'],
  summary:
    'Runs the stored history again and compares the head bit for bit; ends with 1 if they differ.',
  args: ['instance'],
  options: {},
  async run({ instances }, [id = '']) {
    const { head, replay } = await verified(instances, id);
    const data = {
      id,
      version: head.version,
      generation: head.generation,
      observations: head.historyCount,
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
    return { data, text: text.join('\n'), isBad: isBad(replay) };
  },
};

/** A deletion between the two reads takes the rows away; then the marker is what is looked at. */
async function verified(
  instances: ClusterPorts['instances'],
  id: string,
): Promise<{ head: InstanceHead; replay: Replay }> {
  const head = await instances.readHead(id);
  if (head === undefined) {
    throw new CtlError(`nothing is stored of ${id}: what is new is stored within two minutes`);
  }
  const replay = await verifyHead(head, storedRows(instances, id, head));
  if (replay.kind !== 'different') return { head, replay };
  const now = await instances.readHead(id);
  if (now?.deletedAtMs === undefined) return { head, replay };
  const rows = storedRows(instances, id, now);
  return { head: now, replay: await verifyHead(now, rows) };
}

function isBad(replay: Replay): boolean {
  return replay.kind === 'different' || (replay.kind === 'deleted' && replay.rows > 0);
}

function explained(replay: Replay, { generation }: InstanceHead): string {
  switch (replay.kind) {
    case 'same':
      return sameText(replay, generation);
    case 'different':
      return 'The head does not follow from the stored history:';
    case 'unknown_start':
      return (
        `The rows are in order. Whether the head follows from them is unknown: generation ` +
        `${generation} began with a checkpoint of an older one that nothing stored leads to.`
      );
    case 'deleted':
      return replay.rows === 0
        ? 'The instance is deleted, and nothing of its history is left.'
        : `The instance is deleted, and ${replay.rows} rows of its history are left.`;
    case 'other_model':
      return `The head was stored by model ${replay.modelVersion}; this program has another.`;
  }
}

function sameText({ start, since, cycles }: Extract<Replay, { kind: 'same' }>, generation: number) {
  const cyclesText = cycles === 1 ? '1 observation' : `${cycles} observations`;
  const covered =
    since === generation
      ? `${cyclesText} of generation ${generation}`
      : `${cyclesText} of generations ${since} to ${generation}`;
  const trust =
    start === 'kept' ? '; its beginning is the checkpoint that the head itself still holds' : '';
  return `Run again, ${covered} come to the head, bit for bit${trust}.`;
}
