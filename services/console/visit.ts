import type { AuditLine } from '#console/console-audit';
import type { ShownCookies } from '#console/cookies';

/** Where a request comes from, and what its browser has shown. */
export type Visit = {
  readonly requestId: string;
  readonly address: string;
  /** What the browser calls itself, cut to `CLIENT_LENGTH_MAX`. */
  readonly client: string;
  readonly shown: ShownCookies;
};

/** UTF-16 units that are kept of a `User-Agent`. */
export const CLIENT_LENGTH_MAX = 200;

/** What the audit trail says of a visit. */
export function originOf({ address, requestId }: Visit): Pick<AuditLine, 'address' | 'requestId'> {
  return { address, requestId };
}
