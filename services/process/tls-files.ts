import type { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '#config';
import { isChainOf } from '#platform/certificates';
import type { ClientTls } from '#platform/client-tls';
import type { Clock } from '#platform/clock';
import { derivedFrom, type Reloadable } from '#platform/reloadable';
import type { CredentialFiles } from '#process/credential-files';
import { TlsFolder } from '#process/tls-folder';
import { roleName, rolesOf, type WireRole } from '#wire/wire-roles';
import type { WireTls } from '#wire/wire-tls';

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
