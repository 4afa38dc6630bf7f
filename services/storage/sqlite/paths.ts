import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UnusableFile } from '#storage/sqlite/failures';

/** Only the user of the service enters the folder of a file, and reads it and what lies beside it. */
const FOLDER_MODE = 0o700;

/** Rights of a file, without its type. */
const MODE_BITS = 0o777;

/** The same of a file. */
export const FILE_MODE = 0o600;

/**
 * Makes an empty file where there is none. To be done before anything locks it: closing a file drops
 * every lock that the process has on it.
 */
export function makeFile(path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', FILE_MODE));
  // Of root alone: a file of another user in a folder that this user may write to stays this user's.
  if (process.getuid?.() === 0) giveTo(path, statSync(dirname(path)));
}

/**
 * Gives a new file the owner and the mode of the file whose place it takes; without one, the owner of
 * the folder. A program that root runs would otherwise leave what the service cannot open.
 */
export function keepOwner(made: string, file: string): void {
  const replaced = statSync(file, { throwIfNoEntry: false });
  giveTo(made, replaced ?? statSync(dirname(file)));
  if (replaced !== undefined) chmodSync(made, replaced.mode & MODE_BITS);
}

function giveTo(made: string, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  const own = statSync(made);
  if (own.uid !== uid || own.gid !== gid) chownSync(made, uid, gid);
}

/** Makes the folder for a file where there is none; it is still there after a power loss. */
export function makeFolderOf(file: string): void {
  const folder = dirname(file);
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= first.length; made = dirname(made)) {
    syncFolderOf(made);
  }
}

/** Returns when what was written to a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The same for the names in the folder that a file is in. */
export function syncFolderOf(file: string): void {
  sync(dirname(file));
}

/**
 * The path of a file with no symbolic link in it, as SQLite takes it: what lies beside the file must be
 * found by every path that leads to it. Of a file that is not there its folder's, as far as that is.
 */
export function realFile(file: string): string {
  return realIf(file) ?? join(realIf(dirname(file)) ?? resolve(dirname(file)), basename(file));
}

function realIf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/**
 * File systems whose locks and shared memory do not hold between machines, on which SQLite's WAL loses
 * data. Source: https://www.sqlite.org/wal.html, "network filesystem".
 */
const NETWORK_TYPES: ReadonlySet<string> = new Set([
  ...['nfs', 'nfs4', 'cifs', 'smb3', 'smbfs', 'ncpfs', 'afs', 'ceph', 'lustre', 'gpfs', 'beegfs'],
  ...['glusterfs', 'gfs2', 'ocfs2', 'fuse.sshfs', 'fuse.glusterfs', 'fuse.ceph', 'fuse.s3fs'],
  ...[
    'fuse.rclone',
    'fuse.gcsfuse',
    'fuse.mount-s3',
    'fuse.blobfuse2',
    'fuse.davfs',
    'fuse.juicefs',
  ],
]);

/** Where a file system is mounted, and its type. */
type Mount = { readonly point: string; readonly type: string };

/** The mount that a path lies on, by the text of `/proc/self/mountinfo`; undefined: none is listed. */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const point = left
      .split(' ')[4]
      ?.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const type = right.split(' ')[0] ?? '';
    if (point === undefined || !isWithin(path, point)) continue;
    // Of two mounts at one point the later one hides the earlier.
    if (found === undefined || point.length >= found.point.length) found = { point, type };
  }
  return found;
}

/**
 * Throws `UnusableFile` for a file that may have another name, beside which its WAL would not be found,
 * and for a file on a network file system. `file` has no symbolic link in it (`realFile`).
 */
export function assertOneName(file: string, mountinfo = ownMounts()): void {
  const found = statSync(file);
  const { nlink, ino } = found;
  if (found.isFile() && nlink > 1) {
    const other = otherNames(file, ino);
    const named = other.length === 0 ? '' : ` (${other.join(', ')})`;
    throw new UnusableFile(
      `${file} has ${nlink} names${named}: SQLite finds what is committed by one name only; remove the other hard links, or copy the file`,
    );
  }
  const mount = mountOf(file, mountinfo);
  if (mount?.point === file) {
    throw new UnusableFile(
      `${file} is mounted as a single file: its -wal would not be in the mount; mount the folder of the file`,
    );
  }
  if (mount === undefined || !NETWORK_TYPES.has(mount.type)) return;
  throw new UnusableFile(
    `${file} is on a network file system (${mount.type}, ${mount.point}): SQLite needs a local disk; use one, or SERVICE_STORAGE=cassandra`,
  );
}

/** Other names of a file in its folder; links may lie elsewhere too. */
function otherNames(file: string, ino: number): string[] {
  const folder = dirname(file);
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== basename(file))
    .map(({ name }) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.ino === ino);
}

/** Empty where the system has no such list. */
function ownMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

function isWithin(path: string, point: string): boolean {
  return point === '/' || path === point || path.startsWith(`${point}/`);
}
