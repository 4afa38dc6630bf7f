import { CtlError } from '#ctl/command';
import { type BothSides, readable } from '#ctl/copied-buckets';
import type { CopiedStores } from '#ctl/copied-stores';
import { type Replay, verifyHead } from '#ctl/head-verification';
import { RowDigest } from '#ctl/row-digest';
import { trimmedOf } from '#storage/floor';
import { encodeHead } from '#storage/head-codec';
import { ANSWER_AGE_MS, type HistoryRow, type InstanceHead } from '#storage/instance-store';
import { DRIFT_EVENTS, OBSERVATIONS } from '#storage/packed-rows';
import { storedDrift, storedHistory } from '#storage/stored-rows';

/** Rows of one read: as many as a page of the API has at most. */
const ROWS_PER_READ = 1_000;

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
  /** Instances whose head does not follow from their rows, at the source as at the target. */
  readonly contradicted: string[] = [];

  /** What came of running the rows of an instance again. */
  add(id: string, replay: Replay): void {
    switch (replay.kind) {
      case 'same':
      case 'deleted':
        break;
      case 'unknown_start':
      case 'other_model':
        this.unproven += 1;
        break;
      case 'different':
        this.contradicted.push(id);
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
  if (surplus !== 0) throw new CtlError(`bucket ${bucket} has ${surplus} more heads at the target`);
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
  { source, target }: BothSides,
  id: string,
  head: InstanceHead,
  compared: Compared,
): Promise<void> {
  if (!isLive(head)) {
    compared.markers += 1;
    return;
  }
  const replay = await verifyHead(head, comparedRows(source, target, id, head));
  const below = trimmedOf(head);
  await compareDrift(source, target, id, head);
  compared.instances += 1;
  compared.observations += head.historyCount - below.history;
  compared.driftEvents += head.driftCount - below.drift;
  compared.add(id, replay);
}

/** The observations of the target, oldest first, each once it is the same as that of the source. */
async function* comparedRows(
  source: CopiedStores,
  target: CopiedStores,
  id: string,
  head: InstanceHead,
): AsyncGenerator<HistoryRow> {
  for (const wanted of portions(trimmedOf(head).history, head.historyCount)) {
    const [own, other] = await Promise.all([
      storedHistory(source.instances, id, head, wanted),
      storedHistory(target.instances, id, head, wanted),
    ]);
    if (packed(own, OBSERVATIONS) !== packed(other, OBSERVATIONS)) {
      throw differs(id, `its observations up to ${wanted.newest}`);
    }
    yield* other.reverse();
  }
}

async function compareDrift(
  source: CopiedStores,
  target: CopiedStores,
  id: string,
  head: InstanceHead,
): Promise<void> {
  for (const wanted of portions(trimmedOf(head).drift, head.driftCount)) {
    const [own, other] = await Promise.all([
      storedDrift(source.instances, id, head, wanted),
      storedDrift(target.instances, id, head, wanted),
    ]);
    if (packed(own, DRIFT_EVENTS) === packed(other, DRIFT_EVENTS)) continue;
    throw differs(id, `its drift events up to ${wanted.newest}`);
  }
}

function* portions(below: number, total: number) {
  for (let done = below; done < total; done += ROWS_PER_READ) {
    const newest = Math.min(total, done + ROWS_PER_READ);
    yield { newest, count: newest - done };
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
  throw new CtlError(`stored answers of ${ids[0]}${others} differ at the target`);
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

function differs(id: string, what: string): CtlError {
  return new CtlError(`instance ${id} differs at the target: ${what}`);
}
