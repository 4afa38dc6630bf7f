import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientTls } from '#stdlib/certificates';

/**
 * Test certificate owners: one per role, `member` with all roles, and others. All certificates
 * except `stranger`'s have the same authority.
 */
export type Holder =
  | ('edge' | 'engine' | 'limiter' | 'courier' | 'console' | 'ctl')
  | ('member' | 'store' | 'misnamed' | 'stranger');

const FOLDER = 'test/grpc/certificates';

/** A holder's PEM file. */
export function pemOf(holder: Holder, file: 'ca.crt' | 'tls.crt' | 'tls.key'): string {
  return readFileSync(join(FOLDER, holder, file), 'utf8');
}

/** A client that trusts `holder`'s authority and has its certificate. */
export function clientOf(holder: Holder): ClientTls {
  const own = { certificate: pemOf(holder, 'tls.crt'), key: pemOf(holder, 'tls.key') };
  return { authority: pemOf(holder, 'ca.crt'), own };
}
