import { DiffersError } from '#ctl/command';
import { type BothSides, readable } from '#ctl/copied-buckets';
import type { CopiedStores } from '#ctl/copied-stores';
import { type Replay, verifyHead, withDriftEvents } from '#ctl/head-verification';
import { RowDigest } from '#ctl/row-digest';
import { type RowPortion, rowPortions } from '#ctl/row-portions';
import { trimmedOf } from '#storage/floor';
import { encodeHead } from '#storage/head-codec';
import { ANSWER_AGE_MS, type InstanceHead } from '#storage/instance-store';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/packed-rows';
import { storedDrift, storedHistory } from '#storage/stored-rows';

/** How much was compared, and what of it proves nothing. */
export class Compared {
  instances = 0;
  /** Markers of deleted instances. */
  markers = 0;
  observations = 0;
  driftEvents = 0;
  answers = 0;
  /** Heads that do not follow from their rows alone: they have an unknown start, or another model. */
  unproven = 0;
  /** Instances whose head and rows differ, at the source as at the target. */
  readonly contradicted = new Set<string>();

  /** What came of running the rows of an instance again; a later verdict is that on its journal's records too. */
  add(id: string, replay: Replay): void {
    this.contradicted.delete(id);
    switch (replay.kind) {
      case 'same':
      case 'deleted':
        break;
      case 'unknown_start':
      case 'other_model':
        this.unproven += 1;
        break;
      case 'different':
        this.contradicted.add(id);
    }
  }
}

/**
 * Compares the instances of a bucket, bit for bit: heads, every row that a reader of the head is shown,
 * and answers. The rows are run through the model again meanwhile, as `ctl verify` does; what is read of
 * both sides being the same, the verdict is that on both. Rejects with a `CtlError` that names the
 * first difference.
 */
export async function compareBucket(
  sides: BothSides,
  bucket: number,
  compared: Compared,
  onInstance: () => void,
): Promise<void> {
  const { source, target } = sides;
  let surplus = 0;
  for await (const page of source.instances.headPages(bucket)) {
    if (page.size === 0) continue;
    const same = await sameHeads(page, target);
    const answers = await compareAnswers(sides, same);
    // Read only now: other buckets count meanwhile.
    compared.answers += answers;
    for (const [id, head] of same) {
      if (isLive(head)) surplus -= 1;
      await compareInstance(sides, id, head, compared);
      onInstance();
    }
  }
  // Without markers: a store drops one at the end of its time, which may be now.
  for await (const page of target.instances.headPages(bucket)) {
    for (const [id, stored] of page) if (isLive(readable(id, stored))) surplus += 1;
  }
  if (surplus !== 0)
    throw new DiffersError(`bucket ${bucket} has ${surplus} more heads at the target`);
}

function isLive({ deletedAtMs }: InstanceHead): boolean {
  return deletedAtMs === undefined;
}

/** The heads of a page, each once it is the same at the target. */
async function sameHeads(
  page: ReadonlyMap<string, InstanceHead | Error>,
  { instances }: CopiedStores,
): Promise<ReadonlyMap<string, InstanceHead>> {
  const same = new Map<string, InstanceHead>();
  const there = await instances.readHeads([...page.keys()]);
  for (const [id, stored] of page) {
    const head = readable(id, stored);
    const other = there.get(id);
    if (other === undefined) throw differs(id, 'it has no head there');
    if (!encodeHead(readable(id, other)).equals(encodeHead(head))) throw differs(id, 'its head');
    same.set(id, head);
  }
  return same;
}

async function compareInstance(
  sides: BothSides,
  id: string,
  head: InstanceHead,
  compared: Compared,
): Promise<void> {
  if (!isLive(head)) {
    compared.markers += 1;
    return;
  }
  const below = trimmedOf(head);
  const history = {
    ...{ name: 'observations', read: storedHistory, packing: OBSERVATIONS },
    ...{ below: below.history, total: head.historyCount },
  };
  const drift = {
    ...{ name: 'drift events', read: storedDrift, packing: DRIFT_EVENTS },
    ...{ below: below.drift, total: head.driftCount },
  };
  // Going through rows compares them.
  const replay = await verifyHead(head, sameRows(sides, id, head, history));
  const verdict = await withDriftEvents(replay, head, sameRows(sides, id, head, drift));
  compared.instances += 1;
  compared.driftEvents += head.driftCount - below.drift;
  compared.observations += head.historyCount - below.history;
  compared.add(id, verdict);
}

/** How the rows of one table are read and compared, from `below` up to `total`. */
type ComparedRows<Row> = {
  readonly name: string;
  readonly read: (
    store: CopiedStores['instances'],
    id: string,
    head: InstanceHead,
    portion: RowPortion,
  ) => Promise<Row[]>;
  readonly packing: { readonly pack: (row: Row) => string };
  readonly below: number;
  readonly total: number;
};

/** The rows of the target, oldest first, each once it is the same as that of the source. */
async function* sameRows<Row extends { readonly ordinal: number }>(
  { source, target }: BothSides,
  id: string,
  head: InstanceHead,
  { name, read, packing, below, total }: ComparedRows<Row>,
): AsyncGenerator<Row> {
  for (const portion of rowPortions(below, total)) {
    const [own, other] = await Promise.all([
      read(source.instances, id, head, portion),
      read(target.instances, id, head, portion),
    ]);
    if (packed(own, packing) !== packed(other, packing)) {
      throw differs(id, `its ${name} up to ${portion.newest}`);
    }
    yield* other.reverse();
  }
}

function packed<Row extends { readonly ordinal: number }>(
  rows: readonly Row[],
  packing: { readonly pack: (row: Row) => string },
): string {
  return rows.map((row) => `${row.ordinal} ${packing.pack(row)}`).join('');
}

/** Answers how many there are of the instances that live, those left out that are never given again. */
async function compareAnswers(
  { source, target, clock }: BothSides,
  page: ReadonlyMap<string, InstanceHead>,
): Promise<number> {
  const oldestMs = clock.wallMs() - ANSWER_AGE_MS;
  const living = [...page].filter(([, head]) => isLive(head));
  const ids = living.map(([id]) => id);
  const [own, other] = await Promise.all(
    [source, target].map(({ instances }) => digestOfAnswers(instances, ids, oldestMs)),
  );
  if (own?.text === other?.text) return own?.count ?? 0;
  const others = ids.length > 1 ? ` or of ${ids.length - 1} others` : '';
  throw new DiffersError(`stored answers of ${ids[0]}${others} differ at the target`);
}

async function digestOfAnswers(
  instances: CopiedStores['instances'],
  ids: readonly string[],
  oldestMs: number,
): Promise<RowDigest> {
  const digest = new RowDigest();
  for await (const page of instances.answerPages(ids)) {
    for (const row of page) if (row.answer.atMs >= oldestMs) digest.add(row);
  }
  return digest;
}

function differs(id: string, what: string): DiffersError {
  return new DiffersError(`instance ${id} differs at the target: ${what}`);
}
