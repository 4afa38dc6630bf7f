import type { CodeSample } from '#pages/instance/code-samples';

/** Code that connects an agent, for each language and framework. The key comes from the environment. */
export function connectSamples(address: string, id: string): readonly CodeSample[] {
  return [
    { language: 'curl', text: curlFor(address, id) },
    { language: 'TypeScript', text: typescriptFor(address, id) },
    { language: 'Python', text: pythonFor(address, id) },
    { language: 'Vercel AI SDK', text: aiSdkFor(address, id) },
    { language: 'OpenAI Agents, TypeScript', text: openAiTypescriptFor(address, id) },
    { language: 'OpenAI Agents, Python', text: openAiPythonFor(address, id) },
    { language: 'LangChain, TypeScript', text: langchainTypescriptFor(address, id) },
    { language: 'LangChain, Python', text: langchainPythonFor(address, id) },
    { language: 'Pydantic AI', text: pydanticFor(address, id) },
    { language: 'MCP', text: mcpFor(address, id) },
  ];
}

const KEY = 'IDENTITY_ENGINE_API_KEY';

/** Actions of the tools in the samples. */
const TOOLS = { deploy: 'execute', ask_user: 'question' } as const;

function curlFor(address: string, id: string): string {
  return `export ${KEY}=YOUR_API_KEY

# Before a turn: actions, and the prompt that comes last into the instructions of the model.
curl -sS '${address}/instances/${id}/contract?prompt=true' \\
  -H "Authorization: Bearer $${KEY}"

# After a turn: what the agent did.
curl -sS -X POST '${address}/instances/${id}/process' \\
  -H "Authorization: Bearer $${KEY}" \\
  -H "Content-Type: application/json" \\
  -d '{"mode_target":"ORDER","signal_strength":0.7,"confidence":0.5}'`;
}

/** Lines that make a client and an agent in TypeScript. */
function typescriptAgent(address: string, id: string): string {
  return `const client = new IdentityEngine({ baseUrl: '${address}' }); // key: ${KEY}
const agent = new Agent(client.instance('${id}'), {
  tools: new ToolPolicy({ deploy: '${TOOLS.deploy}', ask_user: '${TOOLS.ask_user}' }),
});`;
}

function typescriptFor(address: string, id: string): string {
  return `// npm install identity-engine
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';

${typescriptAgent(address, id)}

await agent.turn({ runId: 'conversation-7', turn: 1 }, async (turn) => {
  console.log(turn.prompt); // comes last into the instructions of the model
  const refusal = turn.refusalOf('deploy'); // a sentence if the contract forbids the tool
  if (refusal === undefined) turn.used('deploy', 'ok');
  else console.log(refusal);
});
await agent.flush(); // before the program exits`;
}

/** Lines that make an agent in Python, inside the block of a client. */
function pythonAgent(id: string): string {
  return `    tools = ToolPolicy({"deploy": "${TOOLS.deploy}", "ask_user": "${TOOLS.ask_user}"})
    agent = Agent(client.instance("${id}"), tools=tools)`;
}

function pythonFor(address: string, id: string): string {
  return `# pip install identity-engine
from identity_engine import Agent, IdentityEngine, ToolPolicy

with IdentityEngine(base_url="${address}") as client:  # key: ${KEY}
${pythonAgent(id)}
    with agent.turn("conversation-7", 1) as turn:
        print(turn.prompt)  # comes last into the instructions of the model
        refusal = turn.refusal_of("deploy")  # a sentence if the contract forbids the tool
        if refusal is None:
            turn.used("deploy", "ok")
        else:
            print(refusal)
    agent.flush()  # before the program exits`;
}

function aiSdkFor(address: string, id: string): string {
  return `// npm install identity-engine ai @ai-sdk/openai zod
import { openai } from '@ai-sdk/openai';
import { generateText, isStepCount, tool } from 'ai';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { withTurn } from 'identity-engine/ai-sdk';
import { z } from 'zod';

${typescriptAgent(address, id)}
const tools = {
  deploy: tool({
    description: 'Deploys the site.',
    inputSchema: z.object({}),
    execute: async () => 'deployed',
  }),
};

const { text } = await agent.turn({ runId: 'conversation-7', turn: 1 }, (turn) =>
  generateText(
    withTurn(turn, {
      ...{ model: openai('gpt-5-mini'), tools, stopWhen: isStepCount(5) },
      ...{ instructions: 'You deploy the site.', prompt: 'Deploy the site.' },
    }),
  ),
);
console.log(text);`;
}

function openAiTypescriptFor(address: string, id: string): string {
  return `// npm install identity-engine @openai/agents zod
import * as sdk from '@openai/agents';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { runOptions, withIdentity } from 'identity-engine/openai-agents';
import { z } from 'zod';

${typescriptAgent(address, id)}
const deploy = sdk.tool({
  name: 'deploy',
  description: 'Deploys the site.',
  parameters: z.object({}),
  execute: async () => 'deployed',
});
const framework = withIdentity(
  new sdk.Agent({
    ...{ name: 'Ada', model: 'gpt-5-mini', tools: [deploy] },
    instructions: 'You deploy the site.',
  }),
);

const { finalOutput } = await agent.turn({ runId: 'conversation-7', turn: 1 }, (turn) =>
  sdk.run(framework, 'Deploy the site.', runOptions({ turn })),
);
console.log(finalOutput);`;
}

function openAiPythonFor(address: string, id: string): string {
  return `# pip install "identity-engine[openai-agents]"
from agents import Agent as Framework, Runner, function_tool
from identity_engine import Agent, IdentityEngine, ToolPolicy
from identity_engine.openai_agents import with_identity


@function_tool
def deploy() -> str:
    """Deploys the site."""
    return "deployed"


framework = with_identity(Framework("Ada", model="gpt-5-mini", tools=[deploy]))
with IdentityEngine(base_url="${address}") as client:  # key: ${KEY}
${pythonAgent(id)}
    with agent.turn("conversation-7", 1) as turn:
        result = Runner.run_sync(framework, "Deploy the site.", context={"turn": turn})
        print(result.final_output)`;
}

function langchainTypescriptFor(address: string, id: string): string {
  return `// npm install identity-engine langchain @langchain/openai zod
import { ChatOpenAI } from '@langchain/openai';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { identityMiddleware } from 'identity-engine/langchain';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

${typescriptAgent(address, id)}
const deploy = tool(() => 'deployed', {
  name: 'deploy',
  description: 'Deploys the site.',
  schema: z.object({}),
});
const framework = createAgent({
  ...{ model: new ChatOpenAI({ model: 'gpt-5-mini' }), tools: [deploy] },
  ...{ systemPrompt: 'You deploy the site.', middleware: [identityMiddleware()] },
});

const { messages } = await agent.turn({ runId: 'conversation-7', turn: 1 }, (turn) =>
  framework.invoke(
    { messages: [{ role: 'user', content: 'Deploy the site.' }] },
    { context: { turn } },
  ),
);
console.log(messages.at(-1)?.text);`;
}

function langchainPythonFor(address: string, id: string): string {
  return `# pip install "identity-engine[langchain]" langchain-openai
from identity_engine import Agent, IdentityEngine, ToolPolicy
from identity_engine.langchain import IdentityMiddleware
from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def deploy() -> str:
    """Deploys the site."""
    return "deployed"


framework = create_agent("openai:gpt-5-mini", [deploy], middleware=[IdentityMiddleware()])
with IdentityEngine(base_url="${address}") as client:  # key: ${KEY}
${pythonAgent(id)}
    with agent.turn("conversation-7", 1) as turn:
        messages = {"messages": [("user", "Deploy the site.")]}
        state = framework.invoke(messages, context={"turn": turn})
        print(state["messages"][-1].text)`;
}

function pydanticFor(address: string, id: string): string {
  return `# pip install "identity-engine[pydantic-ai]"
from identity_engine import Agent, AgentTurn, IdentityEngine, ToolPolicy
from identity_engine.pydantic_ai import Identity
from pydantic_ai import Agent as Framework


def deploy() -> str:
    """Deploys the site."""
    return "deployed"


framework = Framework(
    "openai:gpt-5-mini", deps_type=AgentTurn, tools=[deploy], capabilities=[Identity()]
)
with IdentityEngine(base_url="${address}") as client:  # key: ${KEY}
${pythonAgent(id)}
    with agent.turn("conversation-7", 1) as turn:
        print(framework.run_sync("Deploy the site.", deps=turn).output)`;
}

function mcpFor(address: string, id: string): string {
  const env = {
    [KEY]: 'YOUR_API_KEY',
    IDENTITY_ENGINE_BASE_URL: address,
    IDENTITY_ENGINE_INSTANCE_ID: id,
  };
  const server = { command: 'npx', args: ['-y', 'identity-engine-mcp'], env };
  return JSON.stringify({ mcpServers: { 'identity-engine': server } }, undefined, 2);
}
