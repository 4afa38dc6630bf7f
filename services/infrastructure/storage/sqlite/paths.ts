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

/** Mode of a file's folder: only the user of the service may enter the folder. */
const FOLDER_MODE = 0o700;

/** Permission bits of a mode, without the file type. */
const MODE_BITS = 0o777;

/** Mode of a file and its additional files: only the user of the service may read or write. */
export const FILE_MODE = 0o600;

/**
 * Creates an empty file if the path is free. Must run before the file is locked: closing a file
 * drops every lock of the process on that file.
 */
export function makeFile(path: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', FILE_MODE));
  // Only root can do this: the file gets the owner of its folder. Otherwise the file keeps this
  // user.
  if (process.getuid?.() === 0) giveTo(path, statSync(dirname(path)));
}

/**
 * Gives a new file the owner and the mode of the file that it replaces. If there is none, the new
 * file gets the owner of the folder. Without this, a program run by root would leave a file that
 * the service cannot open.
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

/** Creates the folder of a file if missing. The folder survives a power loss. */
export function makeFolderOf(file: string): void {
  const folder = dirname(file);
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= first.length; made = dirname(made)) {
    syncFolderOf(made);
  }
}

/** Writes the content of a file, or the names in a folder, to disk (`fsync`). */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes the names in the folder of a file to disk. */
export function syncFolderOf(file: string): void {
  sync(dirname(file));
}

/**
 * Path of a file without symbolic links, as SQLite resolves it. Every path to the file must lead to
 * the same additional files. For a missing file, the existing part of the folder's path is
 * resolved.
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
 * Types of network file systems. Locks and shared memory do not work between machines there, and
 * SQLite's WAL loses data. Source: https://www.sqlite.org/wal.html, "network filesystem".
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

/** Mount point and type of a file system. */
type Mount = { readonly point: string; readonly type: string };

/**
 * Mount that contains a path, by the text of `/proc/self/mountinfo`; undefined if none is listed.
 */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  let found: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const point = left
      .split(' ')[4]
      ?.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const type = right.split(' ')[0] ?? '';
    if (point === undefined || !isWithin(path, point)) continue;
    // Of two mounts at the same point, the later mount hides the earlier mount.
    if (found === undefined || point.length >= found.point.length) found = { point, type };
  }
  return found;
}

/**
 * Throws `UnusableFile` for a file with several hard links, because SQLite would not find its WAL
 * under another name. Also refuses a file that is mounted alone, and a file on a network file
 * system. `file` must have no symbolic links (`realFile`).
 */
export function assertOneName(file: string, mountinfo = ownMounts()): void {
  const found = statSync(file);
  const { nlink, ino } = found;
  if (found.isFile() && nlink > 1) {
    const other = otherNames(file, ino);
    const named = other.length === 0 ? '' : ` (${other.join(', ')})`;
    throw new UnusableFile(
      `${file} has ${nlink} names${named}: SQLite finds the latest commits under one of these names only; remove the other hard links, or copy the file`,
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
    `${file} is on a network file system (${mount.type}, ${mount.point}): SQLite needs a local disk; use a local disk, or SERVICE_STORAGE=cassandra`,
  );
}

/** Other hard links of a file in its folder. Further links may be in other folders. */
function otherNames(file: string, ino: number): string[] {
  const folder = dirname(file);
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== basename(file))
    .map(({ name }) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.ino === ino);
}

/** Text of `/proc/self/mountinfo`; empty if the system has no such list. */
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
