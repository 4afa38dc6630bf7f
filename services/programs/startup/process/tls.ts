import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigError } from '#config';
import { roleName, rolesOf, type WireRole, type WireTls } from '#grpc/tls';
import type { CredentialFiles } from '#startup/process/secrets';
import { type ClientTls, certificatesIn, isChainOf } from '#stdlib/certificates';
import type { Clock } from '#stdlib/clock';
import { derivedFrom, type FileContents, MISSING, type Reloadable } from '#stdlib/files';

const FILES = ['ca.crt', 'tls.crt', 'tls.key'] as const;

/** Purpose of each TLS folder, as a label in metrics, by variable. */
const FOLDERS = {
  SERVICE_TLS_FOLDER: 'wire',
  SERVICE_CASSANDRA_TLS_FOLDER: 'cassandra',
  SERVICE_NATS_TLS_FOLDER: 'nats',
} as const;
type FolderVariable = keyof typeof FOLDERS;

/** Parsed files of a TLS folder: for use in TLS, and for inspection. */
type Parsed<Tls> = {
  readonly tls: Tls;
  readonly authorities: readonly X509Certificate[];
  /** Own certificate and its issuers. Empty without an own certificate. */
  readonly chain: readonly X509Certificate[];
};

/** Dependencies of reading a TLS folder. */
type Reading = { readonly credentials: CredentialFiles; readonly clock: Clock };

/**
 * TLS settings for calls between the processes of a cluster. Undefined without a configured folder.
 * Throws `ConfigError` for unusable files. The certificate must allow `role`. Without `role`, for a
 * process without a wire role, it may have any role.
 */
export function wireTlsOf(
  config: Config,
  { credentials, clock }: Reading,
  role: WireRole | undefined,
): Reloadable<WireTls> | undefined {
  return watched(config, 'SERVICE_TLS_FOLDER', credentials, (folder) => {
    const authorities = folder.certificates('ca.crt');
    const { chain, key } = folder.own(clock);
    const [leaf] = chain.parsed;
    if (role !== undefined && leaf !== undefined && !rolesOf(leaf).includes(role)) {
      throw folder.unusable('tls.crt', `is not for the DNS name ${roleName(role)}`);
    }
    // Processes trust only certificates that an authority in ca.crt has signed.
    if (!isChainOf(chain.parsed, authorities.parsed)) {
      throw folder.unusable('tls.crt', 'is not signed by an authority in ca.crt');
    }
    const tls = { authority: authorities.pem, certificate: chain.pem, key: key.pem };
    return { tls, authorities: authorities.parsed, chain: chain.parsed };
  });
}

/**
 * TLS settings for Cassandra or NATS. ca.crt is required; tls.crt and tls.key are read if one of
 * them exists.
 */
export function clientTlsOf(
  config: Config,
  variable: Exclude<FolderVariable, 'SERVICE_TLS_FOLDER'>,
  { credentials, clock }: Reading,
): Reloadable<ClientTls> | undefined {
  let hasShown = false;
  return watched(config, variable, credentials, (folder): Parsed<ClientTls> => {
    const authorities = folder.certificates('ca.crt');
    const authority = authorities.pem.toString();
    // A reload must not lose a certificate that was in use.
    if (!hasShown && !folder.has('tls.crt') && !folder.has('tls.key')) {
      return { tls: { authority, own: undefined }, authorities: authorities.parsed, chain: [] };
    }
    const { chain, key } = folder.own(clock);
    const own = { certificate: chain.pem.toString(), key: key.pem.toString() };
    hasShown = true;
    return { tls: { authority, own }, authorities: authorities.parsed, chain: chain.parsed };
  });
}

/**
 * Watches the folder that a variable names. The returned settings are always from the newest
 * successful `parse`. Undefined without a configured folder.
 */
function watched<Tls>(
  config: Config,
  variable: FolderVariable,
  credentials: CredentialFiles,
  parse: (folder: TlsFolder) => Parsed<Tls>,
): Reloadable<Tls> | undefined {
  const folder = config[variable];
  if (folder === undefined) return undefined;
  const use = FOLDERS[variable];
  const paths = FILES.map((file) => join(folder, file));
  const parsed = credentials.watch(use, paths, (contents) =>
    parse(new TlsFolder(variable, folder, contents)),
  );
  const show = ({ authorities, chain }: Parsed<Tls>): void => {
    credentials.showEnd(use, chain);
    credentials.showEnd(`${use}_authority`, authorities);
  };
  show(parsed.current);
  parsed.onChange(show);
  return derivedFrom(parsed, ({ tls }) => tls);
}

const PEM_START = '-----BEGIN ';

/** File of a folder, as bytes and parsed. */
type Read<Value> = { readonly pem: Buffer; readonly parsed: Value };

/**
 * Snapshot of the files of one folder: ca.crt, tls.crt and tls.key, as cert-manager writes them. At
 * start and on reload, refuses unusable files: a missing file, no PEM, a key of another
 * certificate, or a certificate outside its validity.
 */
class TlsFolder {
  readonly #variable: string;
  readonly #folder: string;
  readonly #contents: FileContents;

  constructor(variable: string, folder: string, contents: FileContents) {
    this.#variable = variable;
    this.#folder = folder;
    this.#contents = contents;
  }

  /** Error about an unusable file, for an operator. */
  unusable(file: string, why: string): ConfigError {
    return new ConfigError(`${this.#variable}: ${join(this.#folder, file)} ${why}`);
  }

  /** Whether the file exists, even if it cannot be read. Reading it then reports why. */
  has(file: string): boolean {
    return this.#contents.get(join(this.#folder, file)) !== MISSING;
  }

  /** Certificates of a file, at least one. */
  certificates(file: string): Read<readonly X509Certificate[]> {
    return this.#read(file, (pem) => {
      const found = certificatesIn(pem);
      if (found.length === 0) throw new Error('no certificate');
      return found;
    });
  }

  /** Reads the own certificate chain and its key. Checks that the chain is valid now. */
  own(clock: Clock): { chain: Read<readonly X509Certificate[]>; key: Read<KeyObject> } {
    const chain = this.certificates('tls.crt');
    const key = this.#read('tls.key', createPrivateKey);
    const [shown] = chain.parsed;
    if (shown === undefined || !shown.checkPrivateKey(key.parsed)) {
      throw this.unusable('tls.key', 'is not the key of tls.crt');
    }
    const { validFrom, validTo } = shown;
    const nowMs = clock.wallMs();
    if (nowMs < Date.parse(validFrom)) {
      throw this.unusable('tls.crt', `is valid from ${validFrom} on`);
    }
    if (nowMs >= Date.parse(validTo)) throw this.unusable('tls.crt', `has expired on ${validTo}`);
    try {
      // A parsed certificate may be too weak for OpenSSL. A server with such a certificate would
      // refuse all clients.
      createSecureContext({ cert: chain.pem, key: key.pem });
    } catch (error) {
      const [why] = (error as Error).message.split('\n');
      throw this.unusable('tls.crt', `is refused by OpenSSL: ${why}`);
    }
    return { chain, key };
  }

  #read<Value>(file: string, parse: (pem: Buffer) => Value): Read<Value> {
    const pem = this.#contents.get(join(this.#folder, file)) ?? 'is not read';
    if (typeof pem === 'string') throw this.unusable(file, pem);
    try {
      // The parsers accept other formats too, but TLS contexts do not.
      if (!pem.includes(PEM_START)) throw new Error('no PEM');
      return { pem, parsed: parse(pem) };
    } catch {
      throw this.unusable(file, 'is not a PEM file of its kind');
    }
  }
}
