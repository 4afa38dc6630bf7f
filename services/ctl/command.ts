import type { AdminClient } from '#ctl/admin-client';
import type { ClusterPorts } from '#ctl/cluster-ports';

/** The options a command takes, by name, with what stands for their values in the help. */
type Options = Readonly<Record<string, string>>;

/** What the command line said, by option. */
export type Values = {
  readonly plan?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires?: string | undefined;
  readonly last?: string | undefined;
  readonly service?: string | undefined;
  readonly 'requests-per-minute'?: string | undefined;
  readonly 'cycles-per-month'?: string | undefined;
  readonly instances?: string | undefined;
};

/** What a command prints, for machines and for people; `isBad` makes the program end with 1. */
export type Printout = { readonly data: unknown; readonly text: string; readonly isBad?: boolean };

type Named = {
  readonly words: readonly string[];
  /** What it does, in a sentence of the document `docs/ctl.md`. */
  readonly summary: string;
  readonly args: readonly string[];
  readonly options: Options;
};

/** A command that speaks to the admin port of a service. */
export type AccountCommand = Named & {
  readonly kind: 'account';
  readonly run: (admin: AdminClient, args: readonly string[], values: Values) => Promise<Printout>;
};

/** A command that looks at a cluster. `tell` takes lines about a work that is going on. */
export type ClusterCommand = Named & {
  readonly kind: 'cluster';
  readonly run: (
    cluster: ClusterPorts,
    args: readonly string[],
    values: Values,
    tell: (line: string) => void,
  ) => Promise<Printout>;
};

/** One command: its words, its arguments in order, its options, and what it does. */
export type Command = AccountCommand | ClusterCommand;
