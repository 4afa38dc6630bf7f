import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

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
  readonly secrets?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly unknown[] };
};

/** What `deploy/compose.yaml` says, with its merges carried out. */
export type ComposeFile = {
  readonly services: Readonly<Record<string, Container>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly configs: Readonly<
    Record<'balancer' | 'prometheus' | 'grafana-source' | 'grafana-dashboards', { content: string }>
  >;
};

/** Reads the compose file. */
export function composeFile(): ComposeFile {
  return parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true });
}
