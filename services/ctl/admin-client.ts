import { z } from 'zod';
import { exchange } from '#ctl/admin-exchange';
import { type AdminClient, CtlError, NotFoundError, UsageError } from '#ctl/command';
import { RefusalView } from '#limiter/admin-schema';
import { adminTokenPlaces, findAdminToken, readAdminToken } from '#limiter/admin-token';
import { isLoopbackHost } from '#platform/loopback';

const Envelope = z.object({ data: z.unknown() });

/**
 * The admin port at `baseUrl`, with the token in `tokenFile`; without one, with that which a
 * process of this user has published.
 */
export function adminClient(baseUrl: string, tokenFile?: string): AdminClient {
  const base = URL.parse(baseUrl);
  if (base === null || base.protocol !== 'http:') {
    throw new UsageError(`--admin takes an address such as http://127.0.0.1:8002, not ${baseUrl}`);
  }
  // The port listens on this machine only, and its token must not leave it.
  if (!isLoopbackHost(base.host)) {
    throw new UsageError(`--admin takes an address of this machine, not ${base.host}`);
  }
  let token: Promise<string | undefined> | undefined;
  return {
    async ask(schema, method, path, body) {
      token ??= tokenOf(base, tokenFile);
      const request = { url: new URL(path, base), method, body, token: await token };
      const { status, text } = await exchange(request);
      // Whatever else it says: a 401 is never proven.
      if (status === 401) throw refused(base, tokenFile, await token);
      const answer = parsed(text);
      const refusal = RefusalView.safeParse(answer);
      if (refusal.success) throw refusedBy(refusal.data);
      const envelope = Envelope.safeParse(answer);
      const data = schema.safeParse(envelope.data?.data);
      if (envelope.success && data.success) return data.data;
      throw new CtlError(`what answers at ${baseUrl} is no admin port of this service`);
    },
  };
}

/** What the service refused: a value of the command line, something that is not there, or else. */
function refusedBy({ error, message }: z.infer<typeof RefusalView>): CtlError {
  if (error === 'not_found') return new NotFoundError(message);
  return error === 'invalid_request' ? new UsageError(message) : new CtlError(message);
}

function portOf({ port }: URL): number {
  return port === '' ? 80 : Number(port);
}

async function tokenOf(base: URL, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return await findAdminToken(portOf(base));
  try {
    return await readAdminToken(file);
  } catch (error) {
    throw new CtlError(`SERVICE_ADMIN_TOKEN_FILE: ${(error as Error).message}`, { cause: error });
  }
}

/** What to do about a token that is missing or wrong. */
function refused(base: URL, file: string | undefined, token: string | undefined): CtlError {
  const hint = 'run ctl as the user of the service, or name its file with SERVICE_ADMIN_TOKEN_FILE';
  if (file !== undefined) {
    const where = 'or is reached through another port than its own';
    return new CtlError(`the service at ${base.origin} has another token than ${file}, ${where}`);
  }
  const places = adminTokenPlaces(portOf(base)).join(' or ');
  const what =
    token === undefined ? `there is no token for it in ${places}` : `${places} is of another`;
  return new CtlError(`the service at ${base.origin} asks for its token, and ${what}: ${hint}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
