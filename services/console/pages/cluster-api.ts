import { Refused } from '#pages/api';
import type { ClusterReport } from '#pages/cluster-answers';

/** How long a report may take, in milliseconds: the first one listens for over a second. */
const REPORT_MS_MAX = 8_000;

/** What a token can be; another text is none, and no header of a request either. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Asks for the cluster as it is now. Throws `Refused`. The token goes into a header, and nowhere else. */
export async function readReport(token: string): Promise<ClusterReport> {
  if (!TOKEN.test(token)) throw new Refused('unauthorized', 'this is not a token');
  const response = await answered(token);
  const text = await response.text().catch(() => {
    throw noAnswer();
  });
  const { data, error, message } = parsedOf(text);
  if (response.ok && data !== undefined) return data;
  const fallback = `The admin port answered with status ${response.status}.`;
  throw new Refused(error ?? 'internal', message ?? fallback);
}

async function answered(token: string): Promise<Response> {
  try {
    return await fetch('/cluster/report', {
      headers: { authorization: `Bearer ${token}` },
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(REPORT_MS_MAX),
    });
  } catch {
    throw noAnswer();
  }
}

function noAnswer(): Refused {
  return new Refused('no_answer', 'The process that this page is from does not answer.');
}

function parsedOf(text: string): {
  readonly data?: ClusterReport;
  readonly error?: string;
  readonly message?: string;
} {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
