import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import type { Clock } from '#platform/clock';
import { TLS_NAME, type WireTls } from '#wire/wire-tls';

/**
 * What this process shows to the others and whom it trusts, from the three files of
 * `SERVICE_TLS_FOLDER`; undefined without one. Throws `ConfigError` for what could never be talked
 * with: a file that is not there or no PEM, a key of another certificate, a certificate for another
 * name or another time.
 */
export function wireTlsOf(
  { SERVICE_TLS_FOLDER: folder }: Config,
  clock: Clock,
): WireTls | undefined {
  if (folder === undefined) return undefined;
  const authority = read(folder, 'ca.crt', certificateOf);
  const certificate = read(folder, 'tls.crt', certificateOf);
  const key = read(folder, 'tls.key', createPrivateKey);
  assertUsable(certificate.parsed, key.parsed, clock.wallMs());
  return { authority: authority.pem, certificate: certificate.pem, key: key.pem };
}

function read<Parsed>(folder: string, file: string, parse: (pem: Buffer) => Parsed) {
  const path = join(folder, file);
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    throw unusable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return { pem, parsed: parse(pem) };
  } catch {
    throw unusable(`${path} is not what its name says, as PEM`);
  }
}

function assertUsable(certificate: X509Certificate, key: KeyObject, nowMs: number): void {
  if (!certificate.checkPrivateKey(key)) throw unusable('tls.key is not the key of tls.crt');
  if (certificate.checkHost(TLS_NAME) === undefined) {
    throw unusable(`tls.crt is not for the DNS name ${TLS_NAME}`);
  }
  const { validFrom, validTo } = certificate;
  if (nowMs < Date.parse(validFrom)) throw unusable(`tls.crt is valid from ${validFrom} on`);
  if (nowMs >= Date.parse(validTo)) throw unusable(`tls.crt has expired on ${validTo}`);
}

function certificateOf(pem: Buffer): X509Certificate {
  return new X509Certificate(pem);
}

function unusable(why: string): ConfigError {
  return new ConfigError(`SERVICE_TLS_FOLDER: ${why}`);
}
