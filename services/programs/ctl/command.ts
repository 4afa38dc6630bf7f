import type { z } from 'zod';
import type { RetentionOfPlans } from '#accounts/plan';
import type { Bus } from '#bus/bus';
import type { AdminClient as NodeClient } from '#grpc/admin';
import type { EngineClient } from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import type { KeyUseStore, ManagedAccounts } from '#storage/ports/accounts';
import type { AuditStore } from '#storage/ports/audit';
import type { BillingStore } from '#storage/ports/billing';
import type { ServerClocks, ShardStore } from '#storage/ports/cluster';
import type { DataFile } from '#storage/ports/data-file';
import type { ErasableFeeds } from '#storage/ports/feeds';
import type { InstanceStore, PagedInstances } from '#storage/ports/instances';
import type { JournalStore } from '#storage/ports/journal';
import type { PagedListings } from '#storage/ports/listings';
import type { ErasableMeters } from '#storage/ports/meters';
import type { CopiedMembers, PagedUsers, PeopleStores } from '#storage/ports/people';

/** Exit codes of `ctl` (docs/ctl.md). */
export const EXIT = { done: 0, failure: 1, usage: 2, differs: 3, notFound: 4 } as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Command failure, with a one-line message for the user. */
export class CtlError extends Error {
  override readonly name: string = 'CtlError';
  /** Exit code of the program. */
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

/** Two sides that should be equal are different. */
export class DiffersError extends CtlError {
  override readonly name = 'DiffersError';
  override readonly exitCode = EXIT.differs;
}

/** A value on the command line: its help text and its accepted values. */
type ValueSpec = {
  readonly about: string;
  /** The only accepted values. */
  readonly choices?: readonly string[];
  /** Returns the reason why a value is refused. Undefined if the value is accepted. */
  readonly faultOf?: (text: string) => string | undefined;
};

/** A command argument. A last argument whose name ends with `...` takes several values. */
export type ArgSpec = ValueSpec & { readonly name: string };

/** A command option. */
export type OptionSpec = ValueSpec & {
  /** Value placeholder in the help. Undefined if the option takes no value. */
  readonly value?: string;
  readonly isRequired?: true;
};

/** Values of the command line, by option name. */
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
 * Command output for machines (`data`) and for people (`text`). An empty text prints nothing.
 * `exitCode` defaults to `EXIT.done`.
 */
export type Printout = {
  readonly data: unknown;
  readonly text: string;
  readonly exitCode?: ExitCode;
};

type Named = {
  readonly words: readonly string[];
  /** Line in `ctl --help`. */
  readonly summary: string;
  /** Text in the command's help and in `docs/ctl.md`. */
  readonly description: string;
  readonly args: readonly ArgSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Maximum time without progress, in milliseconds. Defaults to `SILENT_MS_MAX`. */
  readonly silentMsMax?: number;
};

/** Admin port client for one command. */
export interface AdminClient {
  /**
   * Sends a request and parses `data` of the answer with `schema`. Rejects with a `CtlError` if the
   * service refuses the request. Also rejects if no service answers: the message then explains how
   * to start a service.
   */
  ask<Schema extends z.ZodType>(
    schema: Schema,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<z.infer<Schema>>;
}

/** A command that calls a service's admin port. */
export type AccountCommand = Named & {
  readonly kind: 'account';
  readonly run: (
    admin: AdminClient,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** Access to the cluster's nodes, for a command that makes changes. */
export type ActingCluster = AsyncDisposable & {
  /** Client that routes calls to the engine that owns the instance, as an edge does. */
  readonly engine: EngineClient;
  /** Notifies every process that an account has changed. Delivery is not guaranteed. */
  readonly announce: (accountId: string) => void;
};

/** Cluster stores and bus, for commands that inspect or change the cluster. */
export type ClusterPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: InstanceStore;
  readonly accounts: ManagedAccounts;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly feeds: ErasableFeeds;
  readonly audit: AuditStore;
  readonly keyUses: KeyUseStore;
  readonly people: PeopleStores;
  readonly billing: Pick<BillingStore, 'erase'>;
  readonly serverClocks: ServerClocks;
  /** Retention per plan, from `SERVICE_RETENTION_DAYS`. */
  readonly retentionOfPlans: RetentionOfPlans;
  /** Path of the SQLite data file. Undefined for cluster stores. */
  readonly file?: string | undefined;
  /** Connects to the bus. Lazy, so that commands that do not listen work without a bus. */
  readonly openBus: () => Promise<Bus>;
  /** Opens access to the nodes. Lazy, because few commands change something. */
  readonly openActing: () => Promise<ActingCluster>;
  /** Release of this program. */
  readonly release: string;
  /** Public origin of the console. Undefined if not configured. */
  readonly consoleOrigin: string | undefined;
  /** Prefix of all bus subjects. */
  readonly prefix: string;
  /** Admin calls of the node at an address (`host:port`). */
  readonly adminAt: (address: string) => Pick<NodeClient, 'drain' | 'readInstance'>;
};

/** Command terminal: progress lines, raw output and questions. */
export type CommandTerminal = {
  /** Prints a progress line to standard output. */
  readonly report: (line: string) => void;
  /** Prints a progress line to standard error, for commands whose `write` uses standard output. */
  readonly warn: (line: string) => void;
  /** Writes text to standard output unchanged. Resolves when the reader accepts more text. */
  readonly write: (text: string) => Promise<void>;
  /** Asks the user a question. Undefined if there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
};

/** A command that inspects or changes a cluster. */
export type ClusterCommand = Named & {
  readonly kind: 'cluster';
  readonly run: (
    cluster: ClusterPorts,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** Ports of a command for the data file of `SERVICE_STORAGE=sqlite`. */
export type FilePorts = {
  readonly clock: Clock;
  readonly file: DataFile;
  /** Aborts when the user interrupts the command. */
  readonly interrupted: AbortSignal;
};

/** A command for the data file. */
export type FileCommand = Named & {
  readonly kind: 'file';
  readonly run: (
    ports: FilePorts,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** A command that only computes and uses no service, store or network. */
export type PlanningCommand = Named & {
  readonly kind: 'planning';
  readonly run: (values: Values, args?: readonly string[]) => Printout;
};

/** A command that opens the stores named by its options. */
export type StoresCommand = Named & {
  readonly kind: 'stores';
  readonly run: (
    places: StorePlaces,
    args: readonly string[],
    values: Values,
    terminal: CommandTerminal,
  ) => Promise<Printout>;
};

/** One command: its words, arguments in order, options and implementation. */
export type Command =
  | AccountCommand
  | ClusterCommand
  | FileCommand
  | StoresCommand
  | PlanningCommand;

/** All stores that `ctl copy` copies. */
export type CopiedStores = {
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: PagedInstances;
  readonly accounts: ManagedAccounts;
  readonly listings: PagedListings;
  readonly meters: ErasableMeters;
  readonly feeds: ErasableFeeds;
  readonly audit: AuditStore;
  readonly billing: BillingStore;
  readonly keyUses: KeyUseStore;
  readonly users: PagedUsers;
  readonly members: CopiedMembers;
};

/**
 * Storage location of an installation: a keyspace (undefined: the configured keyspace) or a file.
 */
export type Place =
  | { readonly kind: 'cassandra'; readonly keyspace: string | undefined }
  | { readonly kind: 'sqlite'; readonly file: string };

/** Stores with the display name of their place. */
export type NamedStores = CopiedStores & {
  readonly name: string;
  /**
   * Generated cluster secret, stored with the data. Undefined if the processes are configured with
   * a secret instead.
   */
  readonly ownSecret?: string | undefined;
};

/** Opens the stores at places. */
export interface StorePlaces {
  readonly clock: Clock;
  /** Display name of a place. Two names are equal only for the same place. */
  nameOf(place: Place): string;
  /**
   * Opens the stores of an existing place. Rejects with a one-line reason if the place cannot be
   * used.
   */
  openSource(place: Place): Promise<NamedStores & AsyncDisposable>;
  /**
   * Opens the stores of a place, and creates a file that does not exist. `secret` is the cluster
   * secret stored with the source, if any. A new file keeps this secret.
   */
  openTarget(place: Place, secret?: string): Promise<NamedStores & AsyncDisposable>;
}
