import type { AgentTurn } from '../../../src/identity-engine.ts';

/** A tool call of a scripted model. */
export type Call = { readonly id: string; readonly tool: string; readonly args?: object };

/** Request that a scripted model received, in a form common to all frameworks. */
export type Seen = {
  /** Number of earlier calls of the model in this run. */
  readonly step: number;
  /** Text of the user. */
  readonly input: string;
  /** Instructions; parts are joined by empty lines. */
  readonly instructions: string;
  readonly tools: readonly string[];
  /** Whether the model must call a tool. */
  readonly isForced: boolean;
  /** Results of tools by call id. A call has one result. */
  readonly results: Readonly<Record<string, readonly string[]>>;
};

/** Answer of a scripted model: a text, or tool calls. */
export type Reply = string | readonly Call[];

/** A scripted model with tools. */
export type Script = {
  readonly reply: (seen: Seen) => Reply | Promise<Reply>;
  readonly tools: Readonly<Record<string, () => unknown>>;
  /** Whether the caller demands a tool call. */
  readonly isForced?: boolean;
};

/** Instructions of the user in each run. */
export const INSTRUCTIONS = 'You are a helpful assistant.';

/** An agent of a framework, for concurrent runs. */
type FrameworkAgent = {
  /** Runs the agent and resolves to its answer. */
  readonly run: (turn: AgentTurn, input: string, signal?: AbortSignal) => Promise<string>;
  /** Reads the stream of a run, or only its first part. */
  readonly stream: (
    turn: AgentTurn,
    input: string,
    options?: { readonly signal?: AbortSignal; readonly isBroken?: boolean },
  ) => Promise<void>;
};

/** A framework with its adapter. */
export type Framework = {
  readonly name: string;
  readonly agentOf: (script: Script) => FrameworkAgent;
  /** The error of the model in an error of the framework. */
  readonly causeOf: (error: unknown) => unknown;
};

/** Adds the result of a tool call to a record of results. */
export function addResult(results: Record<string, string[]>, id: string, text: string): void {
  results[id] = [...(results[id] ?? []), text];
}

/** Reads a stream, or only its first part. */
export async function read(stream: AsyncIterable<unknown>, isBroken = false): Promise<void> {
  for await (const _ of stream) if (isBroken) break;
}
