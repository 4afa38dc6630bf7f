import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * The admin port's token, in a file that only the user can read. A process creates the token at
 * start. The same user's `ctl` finds the file by port number (decision 142).
 */

/** Generated token length, in bytes: 256 bits. */
const TOKEN_BYTES = 32;

/** Minimum length of an operator's token, in characters: 128 bits in hexadecimal. */
const TOKEN_LENGTH_MIN = 32;
/** Maximum length of an operator's token, in characters. */
const TOKEN_LENGTH_MAX = 512;

/** Token id length in logs, in characters: 48 bits, which do not reveal the token. */
const TOKEN_ID_LENGTH = 12;

/** Permission bits of the group and of all other users. */
const RIGHTS_OF_OTHERS = 0o077;
/** Permission bits of users outside the group. */
const RIGHTS_OF_STRANGERS = 0o007;

/** Flag against following links; 0 on platforms without such links. */
const NO_LINKS = constants.O_NOFOLLOW ?? 0;

/** A token in its file. Disposal removes the file. */
type PublishedToken = AsyncDisposable & { readonly path: string };

/** Generates a random token. */
export function newAdminToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Token id for logs. Does not reveal the token. */
export function adminTokenId(token: string): string {
  return hash('sha256', token, 'hex').slice(0, TOKEN_ID_LENGTH);
}

/**
 * Reads the token in an operator's file. Follows links, because orchestrators use links. Rejects
 * with a one-line message if the file is unreadable, open to all users, or has no valid token.
 */
export async function readAdminToken(path: string): Promise<string> {
  const refused = (error: NodeJS.ErrnoException): never => {
    throw new Error(`${path} cannot be read (${error.code})`, { cause: error });
  };
  // Reading from a pipe would block forever, and so prevent the process from exiting.
  if (!(await stat(path).catch(refused)).isFile()) throw new Error(`${path} is not a regular file`);
  await using file = await open(path, constants.O_RDONLY).catch(refused);
  const { mode } = await file.stat();
  if (isPosix() && (mode & RIGHTS_OF_STRANGERS) !== 0) {
    throw new Error(`${path} is open to every user of this machine: chmod 600`);
  }
  const token = await contentOf(file);
  if (token !== undefined) return token;
  const form = `${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} visible ASCII characters`;
  throw new Error(`${path} contains no valid token: write ${form}`);
}

/**
 * Writes the admin token to a file with mode 0600, in the first folder that only this user can
 * write to. Replaces the file of a killed process. Rejects with a one-line message if no such
 * folder exists.
 */
export async function publishAdminToken(port: number, token: string): Promise<PublishedToken> {
  const refusals: string[] = [];
  for (const folder of tokenFolders()) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await assertOwn(folder);
      const path = join(folder, fileName(port));
      await write(path, token);
      return { path, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      refusals.push(`${folder} (${code ?? message})`);
    }
  }
  const tried = refusals.join(' and ');
  throw new Error(`no folder for the admin token: tried ${tried}; set SERVICE_ADMIN_TOKEN_FILE`);
}

/** Token published by this user's process on `port`; undefined if there is none. */
export async function findAdminToken(port: number): Promise<string | undefined> {
  for (const path of adminTokenPlaces(port)) {
    try {
      if (!(await lstat(path)).isFile()) continue;
      await using file = await open(path, constants.O_RDONLY | NO_LINKS);
      const { uid, mode } = await file.stat();
      const isOwn = !isPosix() || (uid === ownUid() && (mode & RIGHTS_OF_OTHERS) === 0);
      const token = isOwn ? await contentOf(file) : undefined;
      if (token !== undefined) return token;
    } catch {
      // Missing or unreadable file: try the next path.
    }
  }
  return undefined;
}

/** Possible token paths for the process on `port`, most likely first. */
export function adminTokenPlaces(port: number): readonly string[] {
  return tokenFolders().map((folder) => join(folder, fileName(port)));
}

/**
 * Folders for token files. The home folder is first: temporary file cleaning does not affect it,
 * and other users cannot replace it. Containers and service accounts may lack a writable home.
 */
function tokenFolders(): readonly string[] {
  const inTemporary = join(tmpdir(), `identity-engine-admin-${ownUid() ?? 'user'}`);
  try {
    return [join(homedir(), '.local/state/identity-engine/admin'), inTemporary];
  } catch {
    // A numeric user id without a user account has no home folder.
    return [inTemporary];
  }
}

/** File name with host name and port, because several machines may share a home folder. */
function fileName(port: number): string {
  return `${encodeURIComponent(hostname())}-${port}.token`;
}

/** Rejects if the folder is a link, belongs to another user, or is open to others. */
async function assertOwn(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Error('not a folder');
  if (!isPosix()) return;
  if (found.uid !== ownUid()) throw new Error('owned by another user');
  if ((found.mode & RIGHTS_OF_OTHERS) !== 0) throw new Error('open to other users');
}

/** Writes the file atomically, without following links or writing to another user's file. */
async function write(path: string, token: string): Promise<void> {
  const fresh = `${path}.${randomBytes(8).toString('hex')}`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_LINKS;
  try {
    await using file = await open(fresh, flags, 0o600);
    await file.chmod(0o600);
    await file.writeFile(`${token}\n`);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** Reads the token in a file; undefined if the content is not a valid token. */
async function contentOf(file: FileHandle): Promise<string | undefined> {
  const bytes = Buffer.alloc(TOKEN_LENGTH_MAX + 2);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const text = bytes.toString('latin1', 0, bytesRead).trim();
  const isToken = /^[\x21-\x7e]*$/.test(text) && text.length >= TOKEN_LENGTH_MIN;
  return isToken && text.length <= TOKEN_LENGTH_MAX ? text : undefined;
}

/**
 * Whether the platform has file owners and permissions. Elsewhere, both folders belong to the user.
 */
function isPosix(): boolean {
  return ownUid() !== undefined;
}

function ownUid(): number | undefined {
  return process.getuid?.();
}

/*
 * Proves the token without sending the token, because another user may own the port while the
 * service is down. The service sends a nonce per connection. `ctl` answers with a MAC over its
 * request under the token. The service proves its answer likewise (decision 142).
 */

/** Answer header with the service's proof. */
export const ADMIN_PROOF_HEADER = 'x-admin-proof';

/** Nonce length, in bytes: 128 bits. */
const NONCE_BYTES = 16;

/** A request as seen by both ends. */
type ProvenRequest = {
  readonly nonce: string;
  /** The service end's `address:port`. Binds the proof to this port. */
  readonly address: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Body text; empty without a body. */
  readonly body: string;
};

/** Generates a random nonce. */
export function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url');
}

/** Challenge for the header `WWW-Authenticate`. */
export function challengeOf(nonce: string): string {
  return `Bearer, Proof nonce="${nonce}"`;
}

/** A challenge's nonce; undefined if the challenge has none. */
export function nonceIn(challenge: string | undefined): string | undefined {
  return /\bProof nonce="([\w-]{8,128})"/.exec(challenge ?? '')?.[1];
}

/** Proves that a request's sender has the token. */
export function requestProof(token: string, request: ProvenRequest): string {
  const { nonce, address, method, target, body } = request;
  return macOf(token, ['request', nonce, address, method, target, body]);
}

/** Proves that an answer's sender has the token and received `proof`. */
export function answerProof(token: string, proof: string, status: number, body: string): string {
  return macOf(token, ['answer', proof, status, body]);
}

/** Whether two proofs are equal, compared in constant time. */
export function isSameProof(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** MAC over the parts. JSON ensures that different lists never give the same bytes. */
function macOf(token: string, parts: readonly (string | number)[]): string {
  return createHmac('sha256', token).update(JSON.stringify(parts)).digest('base64url');
}
