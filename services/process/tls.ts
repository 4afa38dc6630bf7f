import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigError } from '#config';
import { type ClientTls, certificatesIn, isChainOf } from '#platform/certificates';
import type { Clock } from '#platform/clock';
import { derivedFrom, type FileContents, MISSING, type Reloadable } from '#platform/files';
import type { CredentialFiles } from '#process/secrets';
import { roleName, rolesOf, type WireRole, type WireTls } from '#wire/tls';

const FILES = ['ca.crt', 'tls.crt', 'tls.key'] as const;

/** The variables that name such a folder, and what it is used for in metrics. */
const FOLDERS = {
  SERVICE_TLS_FOLDER: 'wire',
  SERVICE_CASSANDRA_TLS_FOLDER: 'cassandra',
  SERVICE_NATS_TLS_FOLDER: 'nats',
} as const;
type FolderVariable = keyof typeof FOLDERS;

/** What became of a folder's files: as they are given to others, and as they can be read. */
type Parsed<Tls> = {
  readonly tls: Tls;
  readonly authorities: readonly X509Certificate[];
  /** What the process shows of itself, the signers behind it; empty: nothing. */
  readonly chain: readonly X509Certificate[];
};

/** What reading a folder takes from outside. */
type Reading = { readonly credentials: CredentialFiles; readonly clock: Clock };

/**
 * What a process of this role shows to the others of its cluster and whom it trusts; undefined
 * without a folder. Throws `ConfigError` for what is of no use. One without a role speaks to no
 * other.
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
    // Every process is signed by what all trust: with another ca.crt none would let this one in.
    if (!isChainOf(chain.parsed, authorities.parsed)) {
      throw folder.unusable('tls.crt', 'is not signed by an authority in ca.crt');
    }
    const tls = { authority: authorities.pem, certificate: chain.pem, key: key.pem };
    return { tls, authorities: authorities.parsed, chain: chain.parsed };
  });
}

/**
 * The same for Cassandra and NATS: ca.crt is needed, tls.crt and tls.key are read if one of
 * them is there.
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
    // What was shown once is missing if it is not there later.
    if (!hasShown && !folder.has('tls.crt') && !folder.has('tls.key')) {
      return { tls: { authority, own: undefined }, authorities: authorities.parsed, chain: [] };
    }
    const { chain, key } = folder.own(clock);
    const own = { certificate: chain.pem.toString(), key: key.pem.toString() };
    hasShown = true;
    return { tls: { authority, own }, authorities: authorities.parsed, chain: chain.parsed };
  });
}

/** What `parse` makes of the folder that a variable names, now and after each change. */
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

/** A file of a folder, as it is and as it is read. */
type Read<Value> = { readonly pem: Buffer; readonly parsed: Value };

/**
 * The files of one folder, as they were at one moment: ca.crt, tls.crt and tls.key, as cert-manager
 * writes them. What could never be talked with is refused, at start and afterwards: a file that is
 * not there or no PEM, a key of another certificate, a certificate for another time.
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

  /** What an operator reads of a file that is of no use. */
  unusable(file: string, why: string): ConfigError {
    return new ConfigError(`${this.#variable}: ${join(this.#folder, file)} ${why}`);
  }

  /** Whether there is such a file. Also for one that cannot be read: reading it then says so. */
  has(file: string): boolean {
    return this.#contents.get(join(this.#folder, file)) !== MISSING;
  }

  /** Every certificate of a file, of which there is one at least. */
  certificates(file: string): Read<readonly X509Certificate[]> {
    return this.#read(file, (pem) => {
      const found = certificatesIn(pem);
      if (found.length === 0) throw new Error('no certificate');
      return found;
    });
  }

  /** What the process shows of itself: valid now, and with its own key. */
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
      // What parses may still be too weak; a server that is given such a thing refuses every client.
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
      // Both parsers would take other forms too, which nothing after them does.
      if (!pem.includes(PEM_START)) throw new Error('no PEM');
      return { pem, parsed: parse(pem) };
    } catch {
      throw this.unusable(file, 'is not what its name says, as PEM');
    }
  }
}
