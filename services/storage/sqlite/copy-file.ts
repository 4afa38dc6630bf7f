import { closeSync, fdatasyncSync, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { backup } from 'node:sqlite';
import type { WatchWork } from '#storage/data-file';
import { openConnection } from '#storage/sqlite/connection';
import { closeBeside } from '#storage/sqlite/file-owner';
import { markFileClosed } from '#storage/sqlite/placed-file';
import { FILE_MODE } from '#storage/sqlite/private-file';

/** Pages that are copied between two looks at whether the work is to go on: 2 MiB. Chosen. */
const PAGES = 512;

/**
 * Bytes after which a copy is made to reach the disk: what is left for one `fsync` at the end would hold up
 * the commits of a service beside it. Chosen.
 */
const SYNCED_BYTES = 8 * 1_024 * 1_024;

/**
 * Copies what is committed in a file at one moment into `target`, while others write to it. They wait for
 * nothing; only their WAL is not copied back meanwhile. `target` is not marked as open. What `watch`
 * throws ends it.
 */
export async function copyCommitted(file: string, target: string, watch: WatchWork): Promise<void> {
  const descriptor = openSync(target, 'r+');
  const database = openConnection(file);
  try {
    // An open transaction keeps its moment: without one SQLite begins from the first page again whenever
    // another connection has written between two portions.
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    const pageBytes = Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
    let syncedBytes = 0;
    const progress = ({
      remainingPages,
      totalPages,
    }: {
      remainingPages: number;
      totalPages: number;
    }) => {
      const bytes = (totalPages - remainingPages) * pageBytes;
      if (bytes - syncedBytes >= SYNCED_BYTES) {
        fdatasyncSync(descriptor);
        syncedBytes = bytes;
      }
      watch('copied', bytes, totalPages * pageBytes);
    };
    await backup(database, target, { rate: PAGES, progress });
  } finally {
    closeBeside(database, file);
    closeSync(descriptor);
  }
  markFileClosed(target);
}

/** Copies a file that nothing writes, byte for byte, in the place of what `target` was. */
export async function copyBytes(file: string, target: string, watch: WatchWork): Promise<void> {
  await using from = await open(file, 'r');
  await using to = await open(target, 'w', FILE_MODE);
  const { size } = await from.stat();
  let bytes = 0;
  const portion = Buffer.allocUnsafe(SYNCED_BYTES);
  for (;;) {
    const { bytesRead } = await from.read(portion, 0, portion.length, bytes);
    if (bytesRead === 0) break;
    await writeAll(to, portion.subarray(0, bytesRead));
    bytes += bytesRead;
    await to.datasync();
    watch('copied', bytes, size);
  }
  await to.sync();
}

async function writeAll(to: FileHandle, portion: Buffer): Promise<void> {
  for (let done = 0; done < portion.length; ) {
    done += (await to.write(portion, done)).bytesWritten;
  }
}
