import type { z } from 'zod';
import type { Bus } from '#bus/bus';
import type { Clock } from '#platform/clock';
import type { InstanceStore } from '#storage/instance-store';
import type { JournalStore } from '#storage/journal-store';
import type { ShardStore } from '#storage/shard-store';
import type { AdminClient as NodeClient } from '#wire/admin-client';

/** Why a command failed, in one line for its user. */
export class CtlError extends Error {
  override readonly name = 'CtlError';
}

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
  readonly observations?: string | undefined;
  readonly 'keyed-share'?: string | undefined;
  readonly headroom?: string | undefined;
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
  readonly run: (admin: AdminClient, args: readonly string[], values: Values) => Promise<Printout>;
};

/** What a cluster is looked at through. `ctl` writes nothing to any of it. */
export type ClusterPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly instances: InstanceStore;
  /** Opened only by commands that listen, so that the others work without a bus. */
  readonly openBus: () => Promise<Bus>;
  /** First part of all subjects on the bus. */
  readonly prefix: string;
  /** The admin calls of the node at an address (`host:port`). */
  readonly adminAt: (address: string) => Pick<NodeClient, 'drain' | 'readInstance'>;
};

/** A command that looks at a cluster. `report` takes lines about work under way. */
export type ClusterCommand = Named & {
  readonly kind: 'cluster';
  readonly run: (
    cluster: ClusterPorts,
    args: readonly string[],
    values: Values,
    report: (line: string) => void,
  ) => Promise<Printout>;
};

/** A command that computes, and looks at nothing. */
export type PlanningCommand = Named & {
  readonly kind: 'planning';
  readonly run: (values: Values) => Printout;
};

/** One command: its words, its arguments in order, its options, and what it does. */
export type Command = AccountCommand | ClusterCommand | PlanningCommand;
