import { isStepCount, type LanguageModel, ToolLoopAgent, type ToolSet, tool } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { partsOf, withTurn } from '../../../src/adapters/ai-sdk.ts';
import type { AgentTurn } from '../../../src/identity-engine.ts';
import {
  addResult,
  type Call,
  type Framework,
  INSTRUCTIONS,
  read,
  type Script,
  type Seen,
} from './framework.ts';

type CallOptions = Parameters<MockLanguageModelV4['doGenerate']>[0];

type Streamed = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The Vercel AI SDK, with one `ToolLoopAgent` for all runs. */
export const aiSdk: Framework = {
  name: 'ai',
  causeOf: (error) => error,
  agentOf: (script) => {
    const agent = new ToolLoopAgent<{ turn: AgentTurn }, ToolSet>({
      model: modelOf(script),
      tools: toolsOf(script),
      instructions: INSTRUCTIONS,
      maxRetries: 0,
      onError: () => undefined,
      stopWhen: isStepCount(6),
      ...(script.isForced === true && { toolChoice: 'required' }),
      prepareCall: ({ options, ...settings }) => withTurn(options.turn, settings),
    });
    return {
      run: async (turn, prompt, abortSignal) => {
        const options = abortSignal === undefined ? {} : { abortSignal };
        return (await agent.generate({ prompt, options: { turn }, ...options })).text;
      },
      stream: async (turn, prompt, { signal, isBroken } = {}) => {
        const options = signal === undefined ? {} : { abortSignal: signal };
        const { fullStream } = await agent.stream({ prompt, options: { turn }, ...options });
        await read(partsOf(fullStream), isBroken);
      },
    };
  },
};

/** Tools of the script, in the form of the SDK. */
function toolsOf({ tools }: Script): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, run]) => [
      name,
      tool({ inputSchema: z.object({}), execute: async () => await run() }),
    ]),
  );
}

/** The SDK's mock model, which follows the script. */
export function modelOf({ reply }: Pick<Script, 'reply'>): LanguageModel {
  const answerTo = async (call: CallOptions) => {
    const said = await reply(seenIn(call));
    if (typeof said === 'string') return { content: [textOf(said)], reason: 'stop' } as const;
    return { content: said.map(callOf), reason: 'tool-calls' } as const;
  };
  return new MockLanguageModelV4({
    doGenerate: async (call) => {
      const { content, reason } = await answerTo(call);
      const finishReason = { unified: reason, raw: reason };
      return { content: [...content], finishReason, usage: USAGE, warnings: [] };
    },
    doStream: async (call) => {
      const { content, reason } = await answerTo(call);
      const parts = content.flatMap((part): StreamPart[] =>
        part.type === 'text' ? streamed(part.text) : [part],
      );
      const finishReason = { unified: reason, raw: reason };
      return {
        stream: convertArrayToReadableStream<StreamPart>([
          { type: 'stream-start', warnings: [] },
          ...parts,
          { type: 'finish', finishReason, usage: USAGE },
        ]),
      };
    },
  });
}

const textOf = (text: string) => ({ type: 'text', text }) as const;

const callOf = ({ id, tool: toolName, args = {} }: Call) =>
  ({ type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(args) }) as const;

const streamed = (text: string): StreamPart[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
];

function seenIn({ prompt, tools = [], toolChoice }: CallOptions): Seen {
  const results: Record<string, string[]> = {};
  const instructions: string[] = [];
  let [step, input] = [0, ''];
  for (const { role, content } of prompt) {
    if (role === 'system') instructions.push(content);
    if (role === 'assistant') step += 1;
    if (role === 'user') input = content.map((part) => ('text' in part ? part.text : '')).join('');
    if (role !== 'tool') continue;
    for (const part of content) {
      if (part.type !== 'tool-result') continue;
      addResult(results, part.toolCallId, JSON.stringify(part.output));
    }
  }
  return {
    ...{ step, input, results, instructions: instructions.join('\n\n') },
    tools: tools.map(({ name }) => name),
    isForced: toolChoice?.type === 'required',
  };
}
