import { CtlError, DiffersError } from '#ctl/command';
import type { NamedStores } from '#ctl/copied-stores';
import { RowDigest } from '#ctl/row-digest';
import { WorkWindow } from '#ctl/work-window';
import { slotsOf } from '#node/tail-reader';
import type { JournalStore } from '#storage/journal-store';

/** Slots that are written at once. Chosen. */
const SLOTS_IN_FLIGHT_MAX = 8;

/**
 * Copies the tails of sealed journals and seals them at the target: with them the nodes that start there
 * take the shards over from their owners, as after any crash. A journal whose end is decided at the target
 * is there as a whole. Rejects with a `CtlError` for an owner without a journal.
 */
export async function copyJournals(
  source: NamedStores,
  target: NamedStores,
  owners: Iterable<string>,
): Promise<void> {
  const listed = await target.journals.list();
  const ended = new Set(
    listed.filter(({ sealedAtMs }) => sealedAtMs !== undefined).map((one) => one.incarnation),
  );
  for (const owner of owners) if (!ended.has(owner)) await copyJournal(source, target, owner);
  for (const owner of owners) await assertSameTail(source, target, owner);
}

async function copyJournal(
  source: NamedStores,
  target: NamedStores,
  incarnation: string,
): Promise<void> {
  const head = await source.journals.readHead(incarnation, 'serial');
  if (head === undefined) throw lacksJournal(source, incarnation);
  // Not applied: an earlier try has begun it.
  await target.journals.begin(incarnation, head.address);
  const window = new WorkWindow(SLOTS_IN_FLIGHT_MAX);
  const { lowWaterMark } = head;
  for await (const { slot, records } of slotsOf(source.journals, incarnation, head)) {
    const append = { incarnation, slot, records, lowWaterMark, deleteBelow: undefined };
    await window.add(() => target.journals.append(append));
  }
  await window.end();
  await target.journals.seal(incarnation);
}

async function assertSameTail(
  source: NamedStores,
  target: NamedStores,
  incarnation: string,
): Promise<void> {
  const [one, other] = await Promise.all(
    [source, target].map((stores) => tailDigest(stores.journals, incarnation)),
  );
  if (one === other) return;
  throw new DiffersError(`the journal of ${incarnation} differs at ${target.name}`);
}

async function tailDigest(journals: JournalStore, incarnation: string): Promise<string> {
  const head = await journals.readHead(incarnation, 'serial');
  const digest = new RowDigest();
  if (head === undefined) return digest.text;
  for await (const { slot, records } of slotsOf(journals, incarnation, head)) {
    digest.add([slot, Buffer.from(records).toString('latin1')]);
  }
  return digest.text;
}

function lacksJournal({ name }: NamedStores, owner: string): CtlError {
  return new CtlError(`at ${name} ${owner} owns shards and has no journal`);
}
