import { CorruptJournal, decodeRecord, linesOf } from '#actor-runtime/record-codec';
import { SERVICES } from '#cluster-status/snapshot';
import { type ClusterCommand, type ClusterPorts, NotFoundError } from '#ctl/command';
import { table } from '#ctl/printed-text';
import type { FeedRecord } from '#engine/feed/feed';
import { feedRecordOf } from '#engine/feed/kind';
import { type InstanceChange, isOfTags } from '#engine/instance/event';
import { eventOfRecord } from '#engine/instance/sourcing';
import { MODE_KEYS } from '#identity/modes';
import { type JournalHead, type JournalSlot, SLOTS_UNDER_WAY_MAX } from '#storage/ports/journal';
import { meterOfRow } from '#storage/ports/meter-codec';
import type { MeterRecord } from '#storage/ports/meters';

/** Default and maximum of `--last`. */
const RECORDS_SHOWN = 20;
const RECORDS_SHOWN_MAX = 200_000;

/** Journal slots per read. 32 of the largest groups are 16 MiB. */
const SLOTS_PER_READ = 32;

/** `ctl journal`: shows the head of an incarnation's journal and the newest records of its tail. */
export const JOURNAL: ClusterCommand = {
  kind: 'cluster',
  words: ['journal'],
  summary: 'show the newest records of a journal',
  description:
    'Shows the head of a journal and the newest records of its tail (`--last`, default 20).',
  args: [{ name: 'incarnation', about: 'incarnation of a node, as `ctl nodes` shows it' }],
  options: {
    last: {
      ...{ value: 'records', about: `number of records to show (default ${RECORDS_SHOWN})` },
      faultOf: countFaultOf,
    },
  },
  async run({ journals, shards }, [incarnation = ''], { last }) {
    const wanted = Number(last ?? RECORDS_SHOWN);
    const head = await journals.readHead(incarnation, 'serial');
    if (head === undefined) {
      throw new NotFoundError(
        `there is no journal of ${incarnation}: "ctl nodes" lists the incarnations`,
      );
    }
    const tables = SERVICES.map((service) => shards.load(service, Number.MAX_SAFE_INTEGER));
    const rows = (await Promise.all(tables)).flat();
    const records = await newestRecords(journals, { ...head, incarnation }, wanted);
    const data = {
      incarnation,
      address: head.address,
      next: head.next,
      low_water_mark: head.lowWaterMark,
      is_sealed: head.isSealed,
      shards: rows.filter(({ owner }) => owner === incarnation).length,
      records,
    };
    return { data, text: textOf(data) };
  },
};

/** Table row for one journal record, or for a slot that cannot be decoded. */
type Line = {
  readonly slot: number;
  readonly actor: string;
  readonly id: string;
  readonly version: number | undefined;
  readonly call_id: number | undefined;
  readonly at: string | undefined;
  readonly what: string;
  /** Event in its stored form. */
  readonly event: unknown;
};

/**
 * Returns the newest records of a journal tail, newest first. Empty slots, which idle nodes append,
 * contribute no records.
 */
async function newestRecords(
  journals: ClusterPorts['journals'],
  head: JournalHead & { readonly incarnation: string },
  wanted: number,
): Promise<Line[]> {
  const lines: Line[] = [];
  for (let to = head.next; to > head.lowWaterMark && lines.length < wanted; to -= SLOTS_PER_READ) {
    const from = Math.max(head.lowWaterMark, to - SLOTS_PER_READ);
    const slots = await journals.readSlots(head.incarnation, from, to);
    const bySlot = new Map(slots.map((slot) => [slot.slot, slot]));
    // In an open journal, slots may have been dropped since the head was read, and the newest slots
    // may still be in flight. A sealed journal must have every slot.
    const lowest = head.isSealed ? from : (slots[0]?.slot ?? to);
    for (let slot = to - 1; slot >= lowest; slot -= 1) {
      const isUnderWay = !head.isSealed && slot >= head.next - SLOTS_UNDER_WAY_MAX;
      if (bySlot.has(slot) || !isUnderWay) lines.push(...tableLinesOf(slot, bySlot.get(slot)));
    }
    if (lowest > from) break;
  }
  return lines.slice(0, wanted);
}

function tableLinesOf(slot: number, stored: JournalSlot | undefined): Line[] {
  if (stored === undefined) return [brokenLine(slot, 'the slot is missing')];
  const lines = orBroken(slot, () => linesOf(stored.records));
  if (!Array.isArray(lines)) return [lines];
  return lines.map((line) => orBroken(slot, () => tableLineOf(slot, line))).reverse();
}

function tableLineOf(slot: number, line: string): Line {
  const { actor, actorId, version, callId, atMs, event } = decodeRecord(line);
  const at = new Date(atMs).toISOString();
  const what = recordText(actor, event);
  return { slot, actor, id: actorId, version, call_id: callId, at, what, event };
}

/** Returns the result of `read`, or a table row with the reason if the slot is corrupt. */
function orBroken<T>(slot: number, read: () => T): T | Line {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CorruptJournal)) throw error;
    return brokenLine(slot, `corrupt: ${error.message}`);
  }
}

function brokenLine(slot: number, what: string): Line {
  const nothing = { version: undefined, call_id: undefined, at: undefined, event: undefined };
  return { slot, actor: '-', id: '-', ...nothing, what };
}

function countFaultOf(last: string): string | undefined {
  if (/^\d{1,9}$/.test(last) && Number(last) <= RECORDS_SHOWN_MAX) return undefined;
  return `must be a whole number up to ${RECORDS_SHOWN_MAX}`;
}

function textOf(data: {
  readonly incarnation: string;
  readonly address: string;
  readonly next: number;
  readonly low_water_mark: number;
  readonly is_sealed: boolean;
  readonly shards: number;
  readonly records: readonly Line[];
}): string {
  const headings = ['INCARNATION', 'ADDRESS', 'LOW-WATER', 'NEXT', 'SEALED', 'SHARDS'];
  const { incarnation, address, low_water_mark, next, is_sealed, shards, records } = data;
  const sealed = is_sealed ? 'yes' : 'no';
  const head = table(headings, [[incarnation, address, low_water_mark, next, sealed, shards]]);
  if (records.length === 0) return `${head}\n\nNo records to show between LOW-WATER and NEXT.`;
  const lines = records.map(({ slot, actor, id, version, at, what }) => {
    return [slot, actor, id, version, at, what];
  });
  return `${head}\n\n${table(['SLOT', 'ACTOR', 'ID', 'VERSION', 'AT', 'WHAT'], lines)}`;
}

/** Maximum length of a caller's text in the table, in UTF-16 units, so that a row fits a line. */
const TEXT_SHOWN = 40;

/** Describes the change in a journal record in a few words for an operator. Never throws. */
function recordText(actor: string, event: unknown): string {
  try {
    if (actor === 'meter') return meterText(meterOfRow(event));
    if (actor === 'feed') return feedText(feedRecordOf(event));
    const { change, answerKey } = eventOfRecord(event);
    return `${changeText(change)}${answerKey === undefined ? '' : ', keyed'}`;
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable';
  }
}

function feedText({ rows }: FeedRecord): string {
  const changes = rows.length === 1 ? '1 change' : `${rows.length} changes`;
  const [first] = rows;
  return first === undefined ? changes : `${changes}, from ${first[0]} at version ${first[1]}`;
}

function meterText(record: MeterRecord): string {
  const { monthWatermark, windowWatermark, cyclesUsed, cyclesExpired, cyclesLost, reservations } =
    record;
  const used = `${cyclesUsed} used (${cyclesExpired} expired, ${cyclesLost} lost)`;
  const watermarks = `watermarks: ${monthWatermark} cycles, ${windowWatermark} requests`;
  return `${watermarks}; ${used}, ${reservations.length} reserved`;
}

function changeText(change: InstanceChange): string {
  switch (change.kind) {
    case 'created':
      return `created ${quoted(change.name)} for ${change.accountId}`;
    case 'forked': {
      const { parentId, generation, cycle } = change.start;
      const from = `cycle ${cycle} of generation ${generation} of ${parentId}`;
      return `forked ${quoted(change.name)} from ${from} for ${change.accountId}`;
    }
    case 'renamed':
      if (change.name !== undefined) return `renamed to ${quoted(change.name)}`;
      return isOfTags(change) ? 'tags changed' : 'description changed';
    case 'removed':
      return 'removed';
    case 'reset':
      return `reset to ${change.mode}`;
    case 'trimmed':
      return `trimmed up to observation ${change.floor.history}`;
    case 'observed': {
      const { observations } = change;
      if (observations.length !== 1) return `observed ${observations.length}`;
      const [{ mode, signal, confidence } = { mode: -1, signal: 0, confidence: 0 }] = observations;
      return `observed ${MODE_KEYS[mode] ?? mode} ${signal}, confidence ${confidence}`;
    }
  }
}

/** Quotes text as JSON, so that control characters cannot break the terminal line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text);
}
