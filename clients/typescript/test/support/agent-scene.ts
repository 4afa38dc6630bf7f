import { Agent, type AgentOptions, type Contract, ToolPolicy } from '../../src/identity-engine.ts';
import { clientOf } from './clients.ts';
import { data, FakeServer, type Reaction, type Received } from './fake-server.ts';

/** Contract that forbids execute and explore. */
export const CONTRACT: Contract = {
  dominant_modes: ['Order'],
  suppressed_modes: [],
  allowed_actions: ['clarify', 'stabilize'],
  forbidden_actions: ['execute', 'explore'],
  decision_style: {
    tempo: 'measured',
    risk: 'cautious',
    expressiveness: 'low',
    commitment_threshold: 'high',
  },
  energy_level: 0.8,
  stress_state: 'LOW',
  recovery_profile: { preferred_path: 'none', support_required: false, cooldown_required: false },
};

const SET_POINT = {
  perception: 0.4,
  exploration: 0.1,
  order: 0.5,
  assertion: 0.1,
  connection: 0.1,
  identity: 0.1,
  stress_response: 0,
};

/** Actions of the tools in these tests. */
export const ACTIONS_OF_TOOLS = {
  send_email: 'execute',
  ask_user: 'question',
  look_up: 'clarify',
  read_file: undefined,
} as const;

/** A tool policy that refuses forbidden tools. */
export const TOOLS = new ToolPolicy(ACTIONS_OF_TOOLS);

/** A service with one instance. `process` answers observations; the default applies each. */
export function serviceWith(
  process: Reaction = data({ contract: CONTRACT }),
  contract: () => Contract = () => CONTRACT,
): Promise<FakeServer> {
  return FakeServer.start((response, request) => {
    const end = request.path.split('/').at(-1);
    if (end === 'contract') return data(contract())(response, request);
    if (end === 'snapshot') return data({ set_point: SET_POINT })(response, request);
    return process(response, request);
  });
}

/** An agent on a service, with the errors that the agent reports. */
export function agentOn(server: Pick<FakeServer, 'baseUrl'>, options: AgentOptions = {}) {
  const errors: unknown[] = [];
  const instance = clientOf(server, { attemptsMax: 1 }).instance('inst_1');
  const agent = new Agent(instance, {
    tools: TOOLS,
    onError: (error) => errors.push(error),
    ...options,
  });
  return { agent, errors };
}

/** Observations that a service received. */
export const observed = ({ received }: FakeServer): Received[] =>
  received.filter(({ path }) => path.endsWith('/process'));
