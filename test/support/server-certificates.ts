import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientTls } from '#stdlib/certificates';

/**
 * Whose certificates there are: one of each role, `member` of all of them, and others. All are of
 * one authority but `stranger`.
 */
export type Holder =
  | ('edge' | 'engine' | 'limiter' | 'console' | 'ctl')
  | ('member' | 'store' | 'misnamed' | 'stranger');

const FOLDER = 'test/grpc/certificates';

/** One of the three files of a holder, as PEM. */
export function pemOf(holder: Holder, file: 'ca.crt' | 'tls.crt' | 'tls.key'): string {
  return readFileSync(join(FOLDER, holder, file), 'utf8');
}

/** A client that trusts the authority of `holder` and shows its certificate. */
export function clientOf(holder: Holder): ClientTls {
  const own = { certificate: pemOf(holder, 'tls.crt'), key: pemOf(holder, 'tls.key') };
  return { authority: pemOf(holder, 'ca.crt'), own };
}
