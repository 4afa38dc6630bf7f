import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from '#config';
import type { ClientTls } from '#platform/client-tls';
import type { Clock } from '#platform/clock';
import { roleName, rolesOf, type WireRole } from '#wire/wire-roles';
import type { WireTls } from '#wire/wire-tls';

/*
 * Certificates as cert-manager writes them: a folder with ca.crt, tls.crt and tls.key. What could
 * never be talked with is refused at start: a file that is not there or no PEM, a key of another
 * certificate, a certificate for another name or another time.
 */

const PEM_START = '-----BEGIN ';

/** The variables that name such a folder. */
type FolderVariable =
  | 'SERVICE_TLS_FOLDER'
  | 'SERVICE_CASSANDRA_TLS_FOLDER'
  | 'SERVICE_NATS_TLS_FOLDER';

/**
 * What a process of this role shows to the others of its cluster and whom it trusts; undefined
 * without a folder. Throws `ConfigError` for what is of no use. One without a role speaks to no
 * other.
 */
export function wireTlsOf(
  config: Config,
  clock: Clock,
  role: WireRole | undefined,
): WireTls | undefined {
  const files = filesOf(config, 'SERVICE_TLS_FOLDER');
  if (files === undefined) return undefined;
  const authority = files.certificate('ca.crt');
  const { certificate, key } = files.own(clock);
  if (role !== undefined && !rolesOf(certificate.parsed).includes(role)) {
    throw files.unusable(`tls.crt is not for the DNS name ${roleName(role)}`);
  }
  return { authority: authority.pem, certificate: certificate.pem, key: key.pem };
}

/**
 * The same for Cassandra and NATS: ca.crt is needed, tls.crt and tls.key are read if one of
 * them is there.
 */
export function clientTlsOf(
  config: Config,
  variable: Exclude<FolderVariable, 'SERVICE_TLS_FOLDER'>,
  clock: Clock,
): ClientTls | undefined {
  const files = filesOf(config, variable);
  if (files === undefined) return undefined;
  const authority = files.certificate('ca.crt').pem.toString();
  if (!files.has('tls.crt') && !files.has('tls.key')) return { authority, own: undefined };
  const { certificate, key } = files.own(clock);
  const own = { certificate: certificate.pem.toString(), key: key.pem.toString() };
  return { authority, own };
}

function filesOf(config: Config, variable: FolderVariable) {
  const folder = config[variable];
  if (folder === undefined) return undefined;
  const unusable = (why: string) => new ConfigError(`${variable}: ${why}`);

  const read = <Parsed>(file: string, parse: (pem: Buffer) => Parsed) => {
    const path = join(folder, file);
    let pem: Buffer;
    try {
      pem = readFileSync(path);
    } catch (error) {
      throw unusable(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    try {
      // Both parsers would take other forms too, which nothing after them does.
      if (!pem.includes(PEM_START)) throw new Error('no PEM');
      return { pem, parsed: parse(pem) };
    } catch {
      throw unusable(`${path} is not what its name says, as PEM`);
    }
  };

  const certificate = (file: string) => read(file, (pem) => new X509Certificate(pem));
  return {
    unusable,
    certificate,
    /** Also for a link that leads nowhere: reading it then says so. */
    has: (file: string) => readdirSync(folder).includes(file),
    /** What the process shows of itself: valid now, and with its own key. */
    own(clock: Clock) {
      const shown = certificate('tls.crt');
      const key = read('tls.key', createPrivateKey);
      const { validFrom, validTo } = shown.parsed;
      if (!shown.parsed.checkPrivateKey(key.parsed)) {
        throw unusable('tls.key is not the key of tls.crt');
      }
      const nowMs = clock.wallMs();
      if (nowMs < Date.parse(validFrom)) throw unusable(`tls.crt is valid from ${validFrom} on`);
      if (nowMs >= Date.parse(validTo)) throw unusable(`tls.crt has expired on ${validTo}`);
      return { certificate: shown, key };
    },
  };
}
