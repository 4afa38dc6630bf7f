import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import {
  type AgentMiddleware,
  AIMessage,
  type BaseMessage,
  createAgent,
  createMiddleware,
  type ToolMessage,
  tool,
} from 'langchain';
import { z } from 'zod';
import { identityMiddleware } from '../../../src/adapters/langchain.ts';
import {
  addResult,
  type Call,
  type Framework,
  INSTRUCTIONS,
  read,
  type Script,
  type Seen,
} from './framework.ts';

/** LangChain, with one agent of `createAgent` for all runs. */
export const langchain: Framework = {
  name: 'langchain',
  // LangChain wraps an error of the model in a `MiddlewareError`, also for its own middleware.
  causeOf: (error) => (error as Error).cause,
  agentOf: (script) => {
    const own: AgentMiddleware[] = script.isForced === true ? [DEMANDING] : [];
    const middleware: AgentMiddleware[] = [...own, identityMiddleware()];
    const agent = createAgent({
      model: new ScriptedChatModel(script),
      tools: toolsOf(script),
      systemPrompt: INSTRUCTIONS,
      middleware,
    });
    const inputOf = (input: string) => ({ messages: [{ role: 'user', content: input }] });
    return {
      run: async (turn, input, signal) => {
        const options = { context: { turn }, ...(signal && { signal }) };
        return (await agent.invoke(inputOf(input), options)).messages.at(-1)?.text ?? '';
      },
      stream: async (turn, input, { signal, isBroken } = {}) => {
        const options = { context: { turn }, ...(signal && { signal }) };
        await read(await agent.stream(inputOf(input), options), isBroken);
      },
    };
  },
};

/** Middleware of the caller, which demands a tool call. */
const DEMANDING = createMiddleware({
  name: 'demanding',
  wrapModelCall: (request, handler) => handler({ ...request, toolChoice: 'required' }),
});

/** Tools of the script, in the form of LangChain. */
function toolsOf({ tools }: Script) {
  return Object.entries(tools).map(([name, run]) =>
    tool(async () => JSON.stringify(await run()), {
      name,
      description: name,
      schema: z.object({}),
    }),
  );
}

type BoundTool = {
  readonly name?: unknown;
  readonly function?: { readonly name?: unknown };
};

/** Chat model that follows a script and records its tools. The fake of LangChain cannot wait. */
export class ScriptedChatModel extends BaseChatModel {
  readonly #script: Pick<Script, 'reply'>;
  readonly #tools: readonly BoundTool[];
  readonly #isForced: boolean;

  constructor(script: Pick<Script, 'reply'>, tools: readonly BoundTool[] = [], isForced = false) {
    super({});
    this.#script = script;
    this.#tools = tools;
    this.#isForced = isForced;
  }

  _llmType(): string {
    return 'scripted';
  }

  override bindTools(tools: BoundTool[], options?: { tool_choice?: unknown }) {
    const isForced = options?.tool_choice === 'required';
    return new ScriptedChatModel(this.#script, tools, isForced).withConfig({});
  }

  async _generate(messages: BaseMessage[]) {
    const said = await this.#script.reply(this.#seenIn(messages));
    const message = new AIMessage(
      typeof said === 'string' ? said : { content: '', tool_calls: said.map(callOf) },
    );
    return { generations: [{ text: message.text, message }] };
  }

  #seenIn(messages: readonly BaseMessage[]): Seen {
    const results: Record<string, string[]> = {};
    const seen = { step: 0, input: '', instructions: '' };
    for (const message of messages) {
      if (message.type === 'system') seen.instructions = blocksOf(message).join('');
      if (message.type === 'human') seen.input = message.text;
      if (message.type === 'ai') seen.step += 1;
      if (message.type !== 'tool') continue;
      addResult(results, (message as ToolMessage).tool_call_id, message.text);
    }
    const tools = this.#tools.map((each) => String(each.name ?? each.function?.name));
    return { ...seen, results, tools, isForced: this.#isForced };
  }
}

const callOf = ({ id, tool: name, args = {} }: Call) =>
  ({ id, name, args, type: 'tool_call' }) as const;

/** Texts of the blocks of a message. */
function blocksOf({ content }: BaseMessage): string[] {
  if (typeof content === 'string') return [content];
  return content.map((block) => String('text' in block ? block.text : ''));
}
