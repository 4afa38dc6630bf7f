import { eventOfRecord } from '#engine/event-record';
import type { InstanceChange } from '#engine/instance-event';
import { MODE_KEYS } from '#identity/modes';
import { meterOfRow } from '#storage/meter-row';
import type { MeterRecord } from '#storage/meter-store';

/** Longest text of a caller that is shown, in UTF-16 units: a line should stay one. */
const TEXT_SHOWN = 40;

/** What a journal's record did, in a few words for an operator. Never throws. */
export function recordText(actor: string, event: unknown): string {
  try {
    if (actor === 'meter') return meterText(meterOfRow(event));
    const { change, answerKey } = eventOfRecord(event);
    return `${changeText(change)}${answerKey === undefined ? '' : ', keyed'}`;
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable';
  }
}

function meterText(record: MeterRecord): string {
  const { monthWatermark, windowWatermark, cyclesUsed, cyclesExpired, cyclesLost, reservations } =
    record;
  const used = `${cyclesUsed} used (${cyclesExpired} expired, ${cyclesLost} lost)`;
  const marks = `marks: ${monthWatermark} cycles, ${windowWatermark} requests`;
  return `${marks}; ${used}, ${reservations.length} reserved`;
}

function changeText(change: InstanceChange): string {
  switch (change.kind) {
    case 'created':
      return `created ${quoted(change.name)} for ${change.accountId}`;
    case 'renamed':
      return change.name === undefined
        ? 'description changed'
        : `renamed to ${quoted(change.name)}`;
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

/** In quotation marks, without what would break a terminal's line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text);
}
