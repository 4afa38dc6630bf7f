import { Agent, type ModelRequest, Runner, tool } from '@openai/agents';
import {
  assistantMessage,
  functionCall,
  modelResponder,
  ScriptedModel,
} from '@openai/agents/testing';
import { z } from 'zod';
import { eventsOf, runOptions, withIdentity } from '../../../src/adapters/openai-agents.ts';
import {
  addResult,
  type Framework,
  INSTRUCTIONS,
  read,
  type Script,
  type Seen,
} from './framework.ts';

/** Maximum number of calls of one scripted model. */
const CALLS_MAX = 1_000;

/** The OpenAI Agents SDK, with one agent for all runs. */
export const openaiAgents: Framework = {
  name: '@openai/agents',
  causeOf: (error) => error,
  agentOf: (script) => {
    const agent = withIdentity(
      new Agent({
        name: 'ada',
        model: modelOf(script),
        tools: toolsOf(script),
        instructions: INSTRUCTIONS,
        ...(script.isForced === true && { modelSettings: { toolChoice: 'required' } }),
      }),
    );
    const runner = new Runner({ tracingDisabled: true });
    return {
      run: async (turn, input, signal) => {
        const options = { ...runOptions({ turn }), ...(signal && { signal }) };
        return String((await runner.run(agent, input, options)).finalOutput);
      },
      stream: async (turn, input, { signal, isBroken } = {}) => {
        const options = { ...runOptions({ turn }), ...(signal && { signal }) };
        const result = await runner.run(agent, input, { ...options, stream: true });
        await read(eventsOf(result), isBroken);
      },
    };
  },
};

/** Tools of the script, in the form of the SDK. */
function toolsOf({ tools }: Script) {
  return Object.entries(tools).map(([name, run]) =>
    tool({ name, description: name, parameters: z.object({}), execute: async () => await run() }),
  );
}

/** The SDK's scripted model, which follows the script. */
export function modelOf({ reply }: Pick<Script, 'reply'>): ScriptedModel {
  const respond = modelResponder(async ({ request }) => {
    const said = await reply(seenIn(request));
    if (typeof said === 'string') return [assistantMessage(said)];
    return said.map(({ id, tool: name, args = {} }) =>
      functionCall(name, { ...args }, { callId: id }),
    );
  });
  return new ScriptedModel(Array.from({ length: CALLS_MAX }, () => respond));
}

function seenIn(request: Readonly<ModelRequest>): Seen {
  const results: Record<string, string[]> = {};
  let [step, input] = [0, ''];
  let before = '';
  for (const item of typeof request.input === 'string' ? [] : request.input) {
    if (item.type === 'function_call' && before !== 'function_call') step += 1;
    if (item.type === 'function_call_result')
      addResult(results, item.callId, JSON.stringify(item.output));
    if ('role' in item && item.role === 'user') input = String(item.content);
    before = item.type ?? '';
  }
  return {
    ...{ step, input, results, instructions: request.systemInstructions ?? '' },
    tools: request.tools.map(({ name }) => name),
    isForced: request.modelSettings.toolChoice === 'required',
  };
}
