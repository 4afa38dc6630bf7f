import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** A mounted config or secret. */
type Mounted = { readonly source: string };

/** Tested fields of a container in `deploy/compose.yaml`. */
type Container = {
  readonly image: string;
  readonly user?: string;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly read_only?: boolean;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { ipv4_address: string }>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly (string | Mounted)[];
  readonly configs?: readonly (string | Mounted)[];
  readonly command?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly unknown[] };
};

/** Contents of `deploy/compose.yaml` with merges resolved. */
export type ComposeFile = {
  readonly services: Readonly<Record<string, Container>>;
  readonly secrets: Readonly<Record<string, Source>>;
  readonly configs: Readonly<Record<string, Source>>;
};

/** Origin of a config or secret, which decides how compose mounts it. */
type Source = {
  readonly file?: string;
  readonly content?: string;
  readonly environment?: string;
};

const FOLDER = 'deploy';

/** Reads the compose file. */
export function composeFile(): ComposeFile {
  return parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true });
}

/** Text of a config; throws if the config is unknown or not a file. */
export function configText(name: string): string {
  const file = composeFile().configs[name]?.file;
  if (file === undefined) throw new Error(`compose.yaml has no file for config ${name}`);
  return readFileSync(join(FOLDER, file), 'utf8');
}

/** Names of a container's mounted configs and secrets. */
export function mountedIn({ configs = [], secrets = [] }: Container): readonly string[] {
  return [...configs, ...secrets].map((each) => (typeof each === 'string' ? each : each.source));
}
