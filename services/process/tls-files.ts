import { createPrivateKey, X509Certificate } from 'node:crypto';
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
  const tls = {
    authority: read(folder, 'ca.crt', parseCertificate),
    certificate: read(folder, 'tls.crt', parseCertificate),
    key: read(folder, 'tls.key', createPrivateKey),
  };
  const certificate = new X509Certificate(tls.certificate);
  if (!certificate.checkPrivateKey(createPrivateKey(tls.key))) {
    throw unusable('tls.key is not the key of tls.crt');
  }
  if (certificate.checkHost(TLS_NAME) === undefined) {
    throw unusable(`tls.crt is not for the DNS name ${TLS_NAME}`);
  }
  const nowMs = clock.wallMs();
  const { validFrom, validTo } = certificate;
  if (nowMs < Date.parse(validFrom)) throw unusable(`tls.crt is valid from ${validFrom} on`);
  if (nowMs >= Date.parse(validTo)) throw unusable(`tls.crt has expired on ${validTo}`);
  return tls;
}

function read(folder: string, file: string, parse: (pem: Buffer) => unknown): Buffer {
  const path = join(folder, file);
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    throw unusable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    parse(pem);
  } catch {
    throw unusable(`${path} is not what its name says, as PEM`);
  }
  return pem;
}

function parseCertificate(pem: Buffer): X509Certificate {
  return new X509Certificate(pem);
}

function unusable(why: string): ConfigError {
  return new ConfigError(`SERVICE_TLS_FOLDER: ${why}`);
}
