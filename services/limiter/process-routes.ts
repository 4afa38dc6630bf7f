import { z } from 'zod';
import { Fault } from '#fault/fault';
import { read } from '#limiter/admin-route';
import { LOG_LEVELS } from '#platform/logger';
import type { ProcessControl } from '#platform/process-control';

/** Longest CPU profile, in seconds: a profile grows by about a megabyte a second. */
export const PROFILE_SECONDS_MAX = 60;

const LevelBody = z.strictObject({ level: z.enum(LOG_LEVELS) });
const ProfileBody = z.strictObject({ seconds: z.int().min(1).max(PROFILE_SECONDS_MAX) });

/** What an operator asks of a process itself. */
type ProcessRequest = {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
  readonly requestedBy: string;
};

/** Answers a request about this process; undefined: the request is about something else. */
export async function answerProcess(
  control: ProcessControl | undefined,
  { method, url, body, requestedBy }: ProcessRequest,
): Promise<object | undefined> {
  if (control === undefined) return undefined;
  switch (`${method} ${url.pathname}`) {
    case 'GET /process':
      return control.describe();
    case 'PUT /process/log-level':
      return control.setLogLevel(read(LevelBody, body).level, requestedBy);
    case 'POST /process/cpu-profile':
      return await control.profile(read(ProfileBody, body).seconds, requestedBy);
    case 'POST /process/heap-snapshot':
      return await control.heapSnapshot(requestedBy);
  }
  return undefined;
}

/** Refuses a request to a process that has no accounts. */
export function noAccounts(): Fault {
  return new Fault(
    'not_found',
    'this process has no accounts: ask a limiter or a standalone process',
  );
}
