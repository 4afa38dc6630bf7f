import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** A config or secret under another name than its own. */
type Mounted = { readonly source: string };

/** A container of `deploy/compose.yaml`, as far as tests look at it. */
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

/** What `deploy/compose.yaml` says, with its merges carried out. */
export type ComposeFile = {
  readonly services: Readonly<Record<string, Container>>;
  readonly secrets: Readonly<Record<string, Source>>;
  readonly configs: Readonly<Record<string, Source>>;
};

/** Where a config or secret comes from; how compose brings it into a container depends on it. */
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

/** What is in the file of a config; throws for a config that is none. */
export function configText(name: string): string {
  const file = composeFile().configs[name]?.file;
  if (file === undefined) throw new Error(`the config ${name} is no file`);
  return readFileSync(join(FOLDER, file), 'utf8');
}

/** The names of the configs and secrets that a container mounts. */
export function mountedIn({ configs = [], secrets = [] }: Container): readonly string[] {
  return [...configs, ...secrets].map((each) => (typeof each === 'string' ? each : each.source));
}
