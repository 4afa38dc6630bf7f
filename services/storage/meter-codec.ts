import { CorruptState, readerOf } from '#storage/byte-reader';
import { ByteWriter } from '#storage/byte-writer';
import { monthOf, rowOfMonth } from '#storage/meter-addition';
import { meterOfRow, rowOfMeter } from '#storage/meter-row';
import type { FinishedMonth, MeterHead, MeterRecord } from '#storage/meter-store';

/** What the first byte of a stored meter says. A change of its row or of the layout is another format. */
const FORMAT = 1;

const writer = new ByteWriter();

/** A head as it is stored: its version and, as JSON, the row that the journal has too; about 80 bytes. */
export function encodeMeter(head: MeterHead): Buffer {
  const json = JSON.stringify(rowOfMeter(head));
  return writer.begin(FORMAT).number(head.version).text(json).end();
}

/** The head of an account's meter from its stored bytes. Throws `CorruptState`. */
export function decodeMeter(accountId: string, bytes: unknown): MeterHead {
  const what = `the meter of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const version = reader.number();
  const json = reader.text();
  reader.end();
  return { version, ...recordOf(json, what) };
}

/** A finished month as it is stored: as JSON, the row that heads have of it too. */
export function encodeMonth(month: FinishedMonth): Buffer {
  return writer
    .begin(FORMAT)
    .text(JSON.stringify(rowOfMonth(month)))
    .end();
}

/** A finished month of an account from its stored bytes. Throws `CorruptState`. */
export function decodeMonth(accountId: string, bytes: unknown): FinishedMonth {
  const what = `a month of ${accountId}`;
  const reader = readerOf(bytes, FORMAT, what);
  const json = reader.text();
  reader.end();
  const month = monthIn(json);
  if (month === undefined) throw new CorruptState(`${what} cannot be read`);
  return month;
}

function monthIn(json: string): FinishedMonth | undefined {
  try {
    return monthOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function recordOf(json: string, what: string): MeterRecord {
  try {
    return meterOfRow(JSON.parse(json));
  } catch (cause) {
    throw new CorruptState(`${what} cannot be read`, { cause });
  }
}
