import type { z } from 'zod';
import type { RetentionOfPlans } from '#accounts/plan';
import type { Bus } from '#bus/bus';
import type { Clock } from '#platform/clock';
import type { KeyUseStore, ManagedAccounts } from '#storage/ports/accounts';
import type { AuditStore } from '#storage/ports/audit';
import type { BillingStore } from '#storage/ports/billing';
import type { ServerClocks, ShardStore } from '#storage/ports/cluster';
import type { DataFile } from '#storage/ports/data-file';
import type { InstanceStore, PagedInstances } from '#storage/ports/instances';
import type { JournalStore } from '#storage/ports/journal';
import type { PagedListings } from '#storage/ports/listings';
import type { ErasableMeters } from '#storage/ports/meters';
import type { CopiedMembers, PagedUsers, PeopleStores } from '#storage/ports/people';
import type { AdminClient as NodeClient } from '#wire/admin';
import type { EngineClient } from '#wire/engine-messages';

/** Exit codes of `ctl` (docs/ctl.md). */
export const EXIT = { done: 0, failure: 1, usage: 2, differs: 3, notFound: 4 } as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Why a command failed, in one line for its user. */
export class CtlError extends Error {
  override readonly name: string = 'CtlError';
  /** The exit code of the program. */
  readonly exitCode: ExitCode = EXIT.failure;
}

/** The command line is wrong. Nothing was changed. */
export class UsageError extends CtlError {
  override readonly name = 'UsageError';
  override readonly exitCode = EXIT.usage;
}

/** The command names something that does not exist. */
export class NotFoundError extends CtlError {
  override readonly name = 'NotFoundError';
  override readonly exitCode = EXIT.notFound;
}

/** Two sides that should be equal differ. */
export class DiffersError extends CtlError {
  override readonly name = 'DiffersError';
  override readonly exitCode = EXIT.differs;
}

/** A value on the command line: what the help says about it, and which values are accepted. */
type ValueSpec = {
  readonly about: string;
  /** The only accepted values. */
  readonly choices?: readonly string[];
  /** Answers what is wrong with a value; undefined: nothing. */
  readonly faultOf?: (text: string) => string | undefined;
};

/** An argument of a command. */
export type ArgSpec = ValueSpec & { readonly name: string };

/** An option of a command. */
export type OptionSpec = ValueSpec & {
  /** Placeholder of the value in the help; undefined: the option has no value. */
  readonly value?: string;
  readonly isRequired?: true;
};

/** What the command line said, by option. */
export type Values = {
  readonly plan?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires?: string | undefined;
  readonly name?: string | undefined;
  readonly networks?: string | undefined;
  readonly grace?: string | undefined;
  readonly last?: string | undefined;
  readonly service?: string | undefined;
  readonly 'requests-per-minute'?: string | undefined;
  readonly 'cycles-per-month'?: string | undefined;
  readonly instances?: string | undefined;
  readonly observations?: string | undefined;
  readonly 'keyed-share'?: string | undefined;
  readonly headroom?: string | undefined;
  readonly yes?: boolean | undefined;
  readonly 'without-wal'?: boolean | undefined;
  readonly file?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly 'secret-file'?: string | undefined;
  readonly seconds?: string | undefined;
  readonly json?: boolean | undefined;
};

/**
 * Output of a command, for machines and for people. An empty text prints nothing. `exitCode` is
 * that of the program; undefined: `EXIT.done`.
 */
export type Printout = {
  readonly data: unknown;
  readonly text: string;
  readonly exitCode?: ExitCode;
};

type Named = {
  readonly words: readonly string[];
  /** The line of the command in `ctl --help`. */
  readonly summary: string;
  /** The text of the command in its own help and in `docs/ctl.md`. */
  readonly description: string;
  readonly args: readonly ArgSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Milliseconds without progress after which the command ends; undefined: `SILENT_MS_MAX`. */
  readonly silentMsMax?: number;
};

/** The admin port of a running service, for one command. */
export interface AdminClient {
  /**
   * Sends a request and reads the answer's `data` by `schema`. Rejects with a CtlError that says
   * what the service refused, or that no service answers and how to start one.
   */
  ask<Schema extends z.ZodType>(
    schema: Schema,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<z.infer<Schema>>;
}

/** A command that speaks to the admin port of a service. */
export type AccountCommand = Named & {
  readonly kind: 'account';
  readonly run: (
    admin: AdminClient,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** The nodes of a cluster, for a command that changes something. */
export type ActingCluster = AsyncDisposable & {
  /** All engines as one, as an edge has them. */
  readonly engine: EngineClient;
  /** Notifies every process that an account has changed; may be lost. */
  readonly announce: (accountId: string) => void;
};

/** What a cluster is looked at through, and acted on by the few commands that do. */
export type ClusterPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: InstanceStore;
  readonly accounts: ManagedAccounts;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly audit: AuditStore;
  readonly keyUses: KeyUseStore;
  readonly people: PeopleStores;
  readonly billing: Pick<BillingStore, 'erase'>;
  readonly serverClocks: ServerClocks;
  /** As `SERVICE_RETENTION_DAYS` says. */
  readonly retentionOfPlans: RetentionOfPlans;
  /** The one file that keeps all data, whose process no other one hears; left out: a cluster's stores. */
  readonly file?: string | undefined;
  /** Opened only by commands that listen, so that the others work without a bus. */
  readonly openBus: () => Promise<Bus>;
  /** Opened only by commands that act. */
  readonly openActing: () => Promise<ActingCluster>;
  /** The version of this program. */
  readonly release: string;
  /** Where people reach the console; undefined: not configured. */
  readonly consoleOrigin: string | undefined;
  /** First part of all subjects on the bus. */
  readonly prefix: string;
  /** The admin calls of the node at an address (`host:port`). */
  readonly adminAt: (address: string) => Pick<NodeClient, 'drain' | 'readInstance'>;
};

/** What a command has of its terminal besides what it prints at its end. */
export type CommandTerminal = {
  /** Takes lines about work under way. */
  readonly report: (line: string) => void;
  /** Takes such lines while standard output is taken by `write`. */
  readonly warn: (line: string) => void;
  /** Writes to standard output as it is; fulfils when there is room for more. */
  readonly write: (text: string) => Promise<void>;
  /** Asks its user; undefined where there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
};

/** A command that looks at a cluster, or acts on it. */
export type ClusterCommand = Named & {
  readonly kind: 'cluster';
  readonly run: (
    cluster: ClusterPorts,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** What a command has that works on the one file of `SERVICE_STORAGE=sqlite` as a whole. */
export type FilePorts = {
  readonly clock: Clock;
  readonly file: DataFile;
  /** Aborts when its user ends the command. */
  readonly interrupted: AbortSignal;
};

/** A command that works on the file as a whole. */
export type FileCommand = Named & {
  readonly kind: 'file';
  readonly run: (
    ports: FilePorts,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** A command that computes, and looks at nothing. */
export type PlanningCommand = Named & {
  readonly kind: 'planning';
  readonly run: (values: Values, args?: readonly string[]) => Printout;
};

/** A command that opens the stores that its options name. */
export type StoresCommand = Named & {
  readonly kind: 'stores';
  readonly run: (
    places: StorePlaces,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** One command: its words, its arguments in order, its options, and what it does. */
export type Command =
  | AccountCommand
  | ClusterCommand
  | FileCommand
  | StoresCommand
  | PlanningCommand;

/** Everything that an installation stores and a copy takes along. */
export type CopiedStores = {
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: PagedInstances;
  readonly accounts: ManagedAccounts;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
  readonly users: PagedUsers;
  readonly members: CopiedMembers;
};

/** Where an installation stores: a keyspace, undefined for that of the configuration, or a file. */
export type Place =
  | { readonly kind: 'cassandra'; readonly keyspace: string | undefined }
  | { readonly kind: 'sqlite'; readonly file: string };

/** Stores with how their place is called in lines for people. */
export type NamedStores = CopiedStores & {
  readonly name: string;
  /** A cluster secret that lies with the data; undefined: every process is given one. */
  readonly ownSecret?: string | undefined;
};

/** Opens the stores of installations. */
export interface StorePlaces {
  readonly clock: Clock;
  /** How a place is called; two names are the same only for the same place. */
  nameOf(place: Place): string;
  /** Opens what is stored there. Rejects with one line that says why it cannot be used. */
  openSource(place: Place): Promise<NamedStores & AsyncDisposable>;
  /**
   * The same, where a file that is not there is made. `secret`: the cluster secret of its source, if one
   * lies there; a file that is made keeps it.
   */
  openTarget(place: Place, secret?: string): Promise<NamedStores & AsyncDisposable>;
}
