import { type GetPromptResult, McpServer } from '@modelcontextprotocol/server';
import { toPrompt } from 'identity-engine';
import { z } from 'zod';
import { VERSION } from './configuration.ts';
import { requestFailure, resourceFailure } from './failures.ts';
import { contractUri, type Session } from './session.ts';
import { registerTools } from './tools.ts';

const INSTRUCTIONS =
  'The Identity Engine keeps the state of your character. Read the contract before you act, ask may_i before a risky action, and report each turn once with observe.';

/**
 * MCP server of one session: tools, a contract resource for each instance, and a prompt.
 * `isWatchable`: whether the transport delivers changes of resources.
 */
export function mcpServer(session: Session, isWatchable: boolean): McpServer {
  const capabilities = {
    tools: { listChanged: false },
    resources: { subscribe: isWatchable, listChanged: false },
    prompts: { listChanged: false },
  };
  const information = { name: 'identity-engine', title: 'Identity Engine', version: VERSION };
  const server = new McpServer(information, { capabilities, instructions: INSTRUCTIONS });
  registerTools(server, session);
  for (const id of session.instanceIds) registerContract(server, session, id);
  registerPrompt(server, session);
  return server;
}

function registerContract(server: McpServer, session: Session, id: string): void {
  const metadata = {
    title: `Contract of ${id}`,
    description: 'How the agent should act now. Changes with each observation.',
    mimeType: 'application/json',
  };
  const uri = contractUri(id);
  server.registerResource(`contract-${id}`, uri, metadata, async (_, { mcpReq: { signal } }) => {
    try {
      const { data } = await session.instance(id).contract({ signal });
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] };
    } catch (error) {
      throw resourceFailure(error, uri);
    }
  });
}

function registerPrompt(server: McpServer, session: Session): void {
  const about = {
    title: 'Identity',
    description: 'The contract as instructions for the model: how to act now.',
  };
  const promptOf = async (
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<GetPromptResult> => {
    try {
      const { data } = await session.instance(id).contract({ signal });
      return { messages: [{ role: 'user', content: { type: 'text', text: toPrompt(data) } }] };
    } catch (error) {
      throw requestFailure(error);
    }
  };
  if (session.instanceIds.length === 1) {
    server.registerPrompt('identity', about, ({ mcpReq }) => promptOf(undefined, mcpReq.signal));
  } else {
    const argsSchema = z.object({ instance_id: z.string().max(64) });
    server.registerPrompt('identity', { ...about, argsSchema }, ({ instance_id }, { mcpReq }) =>
      promptOf(instance_id, mcpReq.signal),
    );
  }
}
