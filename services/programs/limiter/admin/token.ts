import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * The token of the admin port, in a file that only its user can read. A process creates the token
 * at start. `ctl` of the same user finds it by the port's number (decision 142).
 */

/** Bytes of a generated token: 256 bits. */
const TOKEN_BYTES = 32;

/** Characters of an operator's token. The minimum is 128 bits in hexadecimal. */
const TOKEN_LENGTH_MIN = 32;
const TOKEN_LENGTH_MAX = 512;

/** Characters of a token's id in logs: 48 bits distinguish tokens without revealing them. */
const TOKEN_ID_LENGTH = 12;

/** Permission bits of group and others, and of others alone. */
const RIGHTS_OF_OTHERS = 0o077;
const RIGHTS_OF_STRANGERS = 0o007;

/** A platform without this flag has no such links. */
const NO_LINKS = constants.O_NOFOLLOW ?? 0;

/** A token in its file. Disposing removes the file. */
type PublishedToken = AsyncDisposable & { readonly path: string };

/** A random token. */
export function newAdminToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Id of a token for logs, which does not reveal the token. */
export function adminTokenId(token: string): string {
  return hash('sha256', token, 'hex').slice(0, TOKEN_ID_LENGTH);
}

/**
 * The token in an operator's file; links are followed, as orchestrators use them. Rejects with one
 * line if the file cannot be read, is open to every user, or contains no valid token.
 */
export async function readAdminToken(path: string): Promise<string> {
  const refused = (error: NodeJS.ErrnoException): never => {
    throw new Error(`${path} cannot be read (${error.code})`, { cause: error });
  };
  // Reading a pipe would block forever and keep the process from ending.
  if (!(await stat(path).catch(refused)).isFile()) throw new Error(`${path} is not a regular file`);
  await using file = await open(path, constants.O_RDONLY).catch(refused);
  const { mode } = await file.stat();
  if (isPosix() && (mode & RIGHTS_OF_STRANGERS) !== 0) {
    throw new Error(`${path} is open to every user of this machine: chmod 600`);
  }
  const token = await contentOf(file);
  if (token !== undefined) return token;
  const form = `${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} visible ASCII characters`;
  throw new Error(`${path} holds no token: ${form}`);
}

/**
 * Writes the token of the admin port to a file of mode 0600, in the first folder that only this
 * user can write to. Replaces the file of a killed process. Rejects with one line if there is no
 * such folder.
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
  throw new Error(`no place for the admin token in ${tried}: set SERVICE_ADMIN_TOKEN_FILE`);
}

/** The token that this user's process on `port` has published; undefined if there is none. */
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
      // Missing or not readable: try the next place.
    }
  }
  return undefined;
}

/** Possible paths of the token for the process on `port`, most likely first. */
export function adminTokenPlaces(port: number): readonly string[] {
  return tokenFolders().map((folder) => join(folder, fileName(port)));
}

/**
 * Folders for token files. The home folder comes first: it survives cleaning of temporary files,
 * and no other user can replace it. Containers and service accounts may lack a writable home.
 */
function tokenFolders(): readonly string[] {
  const inTemporary = join(tmpdir(), `identity-engine-admin-${ownUid() ?? 'user'}`);
  try {
    return [join(homedir(), '.local/state/identity-engine/admin'), inTemporary];
  } catch {
    // A numeric user id without an account has no home folder.
    return [inTemporary];
  }
}

/** File name with host name and port, because machines may share a home folder. */
function fileName(port: number): string {
  return `${encodeURIComponent(hostname())}-${port}.token`;
}

/** Rejects for a folder that is a link, another user's, or open to others. */
async function assertOwn(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Error('no folder');
  if (!isPosix()) return;
  if (found.uid !== ownUid()) throw new Error('of another user');
  if ((found.mode & RIGHTS_OF_OTHERS) !== 0) throw new Error('open to other users');
}

/** Writes the file atomically. Never follows a link or writes to another user's file. */
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

/** The token in a file; undefined if the content is not a valid token. */
async function contentOf(file: FileHandle): Promise<string | undefined> {
  const bytes = Buffer.alloc(TOKEN_LENGTH_MAX + 2);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const text = bytes.toString('latin1', 0, bytesRead).trim();
  const isToken = /^[\x21-\x7e]*$/.test(text) && text.length >= TOKEN_LENGTH_MIN;
  return isToken && text.length <= TOKEN_LENGTH_MAX ? text : undefined;
}

/**
 * Whether the platform has file owners and permissions. On other platforms both folders belong to
 * the user.
 */
function isPosix(): boolean {
  return ownUid() !== undefined;
}

function ownUid(): number | undefined {
  return process.getuid?.();
}

/*
 * Proof of the token without sending it, because the port may belong to another user while the
 * service is down. The service gives every connection a nonce. `ctl` answers with a MAC of its
 * request under the token. The service proves its answer in the same way (decision 142).
 */

/** Header of an answer that carries the service's own proof. */
export const ADMIN_PROOF_HEADER = 'x-admin-proof';

/** Bytes of a nonce: 128 bits. */
const NONCE_BYTES = 16;

/** A request as both ends see it. */
type ProvenRequest = {
  readonly nonce: string;
  /** `address:port` of the service's end of the connection. A proof is valid for this port only. */
  readonly address: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The body's text; empty for none. */
  readonly body: string;
};

/** A new random nonce. */
export function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url');
}

/** The challenge for a `WWW-Authenticate` header. */
export function challengeOf(nonce: string): string {
  return `Bearer, Proof nonce="${nonce}"`;
}

/** The nonce in a challenge; undefined if there is none. */
export function nonceIn(challenge: string | undefined): string | undefined {
  return /\bProof nonce="([\w-]{8,128})"/.exec(challenge ?? '')?.[1];
}

/** Proof that the sender of a request has the token. */
export function requestProof(token: string, request: ProvenRequest): string {
  const { nonce, address, method, target, body } = request;
  return macOf(token, ['request', nonce, address, method, target, body]);
}

/** Proof that the sender of an answer has the token and answers the request of `proof`. */
export function answerProof(token: string, proof: string, status: number, body: string): string {
  return macOf(token, ['answer', proof, status, body]);
}

/** Whether two proofs are equal. The comparison takes constant time. */
export function isSameProof(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** MAC of the parts. JSON keeps different lists of parts from having the same bytes. */
function macOf(token: string, parts: readonly (string | number)[]): string {
  return createHmac('sha256', token).update(JSON.stringify(parts)).digest('base64url');
}
