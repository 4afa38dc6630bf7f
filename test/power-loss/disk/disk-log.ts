import { readFile } from 'node:fs/promises';

/** A recorded file operation. Times are monotonic nanoseconds. */
export type DiskRecord = { readonly ns: bigint; readonly pid: number } & (
  | {
      readonly kind: 'opened';
      readonly handle: number;
      readonly path: string;
      readonly isFolder: boolean;
      readonly isEmptied: boolean;
    }
  | { readonly kind: 'closed' | 'sync_begun' | 'sync_ended'; readonly handle: number }
  | {
      readonly kind: 'written';
      readonly handle: number;
      readonly at: number;
      readonly bytes: Buffer;
    }
  | { readonly kind: 'truncated'; readonly handle: number; readonly length: number }
  | { readonly kind: 'unlinked'; readonly path: string }
  | { readonly kind: 'renamed'; readonly from: string; readonly to: string }
);

/** Kinds of records, by their number in test/power-loss/disk/disk-recorder.c. */
const KINDS = [
  undefined,
  ...(['opened', 'closed', 'written', 'truncated', 'sync_begun', 'sync_ended'] as const),
  ...(['unlinked', 'renamed', 'unseen'] as const),
];

const HEADER_BYTES = 32;
const IS_FOLDER = 1;
const IS_EMPTIED = 2;

/**
 * Reads a log of the disk recorder. Ignores an incomplete last record, as a kill may leave. Throws
 * if a file was changed by a call that the recorder cannot record.
 */
export async function readDiskLog(file: string): Promise<DiskRecord[]> {
  const log = await readFile(file);
  const records: DiskRecord[] = [];
  for (let at = 0; at + HEADER_BYTES <= log.length; ) {
    const end = at + HEADER_BYTES + log.readUInt32LE(at);
    if (end > log.length) break;
    records.push(
      recordOf(log.subarray(at, at + HEADER_BYTES), log.subarray(at + HEADER_BYTES, end)),
    );
    at = end;
  }
  return records;
}

function recordOf(header: Buffer, payload: Buffer): DiskRecord {
  const kind = KINDS[header.readUInt32LE(8)];
  const pid = header.readUInt32LE(4);
  const handle = header.readUInt32LE(12);
  const ns = header.readBigInt64LE(16);
  const at = Number(header.readBigInt64LE(24));
  const common = { ns, pid };
  switch (kind) {
    case 'opened': {
      const [isFolder, isEmptied] = [(at & IS_FOLDER) !== 0, (at & IS_EMPTIED) !== 0];
      return { ...common, kind, handle, path: payload.toString(), isFolder, isEmptied };
    }
    case 'closed':
    case 'sync_begun':
    case 'sync_ended':
      return { ...common, kind, handle };
    case 'written':
      return { ...common, kind, handle, at, bytes: payload };
    case 'truncated':
      return { ...common, kind, handle, length: at };
    case 'unlinked':
      return { ...common, kind, path: payload.toString() };
    case 'renamed': {
      const [from = '', to = ''] = payload.toString().split('\0');
      return { ...common, kind, from, to };
    }
    case 'unseen':
      throw new Error(`the disk recorder cannot record changes by ${payload.toString()}`);
    case undefined:
      throw new Error('the file is no log of the disk recorder');
  }
}
