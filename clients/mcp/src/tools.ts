import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server';
import {
  ACTIONS,
  type Contract,
  type InstanceHandle,
  type KnownAction,
  type Observation,
  type Processed,
  toPrompt,
  uuid7,
} from 'identity-engine';
import { z } from 'zod';
import { failureText, mayHaveHappened, UnclearOutcomeError } from './failures.ts';
import type { Session } from './session.ts';

/** Maximum observations of one simulation. Source: interface 4.2. */
const SIMULATED_MAX = 20;

const OBSERVATION = {
  mode_target: z
    .enum([
      ...(['PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION'] as const),
      ...(['CONNECTION', 'IDENTITY', 'STRESS_RESPONSE'] as const),
    ])
    .describe('Mode of behaviour that the step showed.'),
  signal_strength: z.number().min(0).max(1).describe('Intensity of the behaviour.'),
  confidence: z.number().min(0).max(1).optional().describe('Certainty. Default: 1.'),
  timestamp: z.iso
    .datetime({ offset: true })
    .max(35)
    .optional()
    .describe('Time of the step (RFC 3339). Default: now.'),
};

const IDEMPOTENCY_KEY = z
  .string()
  .max(255)
  .regex(/^[!-~](?:[ -~]*[!-~])?$/)
  .optional()
  .describe('Key of this observation. A repeated call with the same key counts once.');

const OBSERVED = { ...OBSERVATION, idempotency_key: IDEMPOTENCY_KEY };

const ACTION = z.enum(Object.values(ACTIONS) as [KnownAction, ...KnownAction[]]);

// Later releases of the service may add fields and values. Source: interface 9.4.
const CONTRACT = z.looseObject({
  allowed_actions: z.array(z.string()),
  forbidden_actions: z.array(z.string()),
  dominant_modes: z.array(z.string()),
  suppressed_modes: z.array(z.string()),
  decision_style: z.record(z.string(), z.unknown()),
  energy_level: z.number(),
  stress_state: z.string(),
  recovery_profile: z.record(z.string(), z.unknown()),
});

const STEP = { cycle: z.number(), drift_level: z.string(), contract: CONTRACT };

const READ: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** Registers all tools. Their order and descriptions never change. */
export function registerTools(server: McpServer, session: Session): void {
  const add = adder(server, session);
  add('observe', {
    title: 'Report a step',
    description:
      'Reports what the agent just did, as one observation. Returns the new contract. Call once per turn. Observations less than a second apart are throttled and change nothing.',
    annotations: {
      ...{ readOnlyHint: false, destructiveHint: false },
      ...{ idempotentHint: false, openWorldHint: false },
    },
    input: OBSERVED,
    output: {
      ...{ outcome: z.enum(['applied', 'replayed', 'throttled']), ...STEP },
      retry_after_ms: z.number().optional(),
    },
    run: observe,
  });
  add('contract', {
    title: 'Contract',
    description:
      'Returns how the agent should act now: allowed and forbidden actions, style, energy and stress, and the same as a prompt.',
    annotations: READ,
    input: {},
    output: { prompt: z.string(), contract: CONTRACT },
    run: async (instance, _, { signal }) => {
      const { data } = await instance.contract({ signal });
      return { prompt: toPrompt(data), contract: data };
    },
  });
  add('may_i', {
    title: 'May I?',
    description:
      'Checks actions against the contract before the agent acts: allowed, forbidden, or open (left to the agent), with the reason.',
    annotations: READ,
    input: { actions: z.union([ACTION, z.array(ACTION).min(1).max(12)]) },
    output: {
      verdicts: z.array(
        z.object({
          action: z.string(),
          verdict: z.enum(['allowed', 'forbidden', 'open']),
          reason: z.string(),
        }),
      ),
    },
    run: async (instance, { actions }, { signal }) => {
      const { data } = await instance.contract({ signal });
      return { verdicts: [actions].flat().map((action) => verdictOn(action, data)) };
    },
  });
  add('what_if', {
    title: 'What if?',
    description:
      'Simulates 1 to 20 observations on a copy and returns the contract after each. Changes nothing.',
    annotations: READ,
    input: {
      observations: z.array(z.strictObject(OBSERVATION)).min(1).max(SIMULATED_MAX),
    },
    output: { steps: z.array(z.object(STEP)) },
    run: async (instance, { observations }, { signal }) => {
      const { data } = await instance.simulate(observations as Observation[], { signal });
      return { steps: data.states.map(stepOf) };
    },
  });
  add('status', {
    title: 'Status',
    description: 'Returns mode strengths, energy, stress, stability, drift level and cycle.',
    annotations: READ,
    input: {},
    output: {
      ...{ cycle: z.number(), mode_strengths: z.record(z.string(), z.number()) },
      ...{ energy_level: z.number(), stress_state: z.string() },
      ...{ stability_index: z.number(), drift_level: z.string() },
    },
    run: status,
  });
}

type Shape = Readonly<Record<string, z.ZodType>>;

type Tool<In extends Shape, Out extends Shape> = {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: In;
  readonly output: Out;
  readonly run: (
    instance: InstanceHandle,
    input: z.output<z.ZodObject<In>>,
    options: { readonly signal: AbortSignal },
  ) => Promise<z.input<z.ZodObject<Out>>>;
};

/** A function that adds a tool. With several instances, each tool also takes an `instance_id`. */
function adder(server: McpServer, session: Session) {
  const isOne = session.instanceIds.length === 1;
  const id = z.string().max(64).describe('Id of the instance (inst_…).');
  return <In extends Shape, Out extends Shape>(
    name: string,
    { title, description, annotations, input, output, run }: Tool<In, Out>,
  ) => {
    const inputSchema = z.strictObject(isOne ? input : { instance_id: id, ...input });
    const config = { title, description, annotations, inputSchema, outputSchema: z.object(output) };
    server.registerTool(name, config, async (given, { mcpReq: { signal } }) => {
      const { instance_id: instanceId, ...rest } = given as Record<string, unknown>;
      try {
        const instance = session.instance(instanceId as string | undefined);
        const structuredContent = await run(instance, rest as never, { signal });
        return {
          content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
          structuredContent,
        };
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: failureText(error) }] };
      }
    });
  };
}

async function observe(
  instance: InstanceHandle,
  { idempotency_key: given, ...observation }: z.output<z.ZodObject<typeof OBSERVED>>,
  { signal }: { readonly signal: AbortSignal },
) {
  const idempotencyKey = given ?? uuid7();
  try {
    const options = { idempotencyKey, signal };
    const result = await instance.process(observation as Observation, options);
    const outcome = result.throttled ? 'throttled' : result.isReplayed ? 'replayed' : 'applied';
    const { retryAfterMs } = result.throttled ?? {};
    const retry = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
    return { outcome, ...stepOf(result.data), ...retry } as const;
  } catch (error) {
    if (mayHaveHappened(error)) throw new UnclearOutcomeError(idempotencyKey, error);
    throw error;
  }
}

async function status(
  instance: InstanceHandle,
  _: unknown,
  options: { readonly signal: AbortSignal },
) {
  const [{ data: snapshot }, { data: events }] = await Promise.all([
    instance.snapshot(options),
    instance.drift({ limit: 1 }, options),
  ]);
  const { cycle, energy_level, stress_state, stability_index } = snapshot;
  const mode_strengths = snapshot.mode_strengths as Record<string, number>;
  // Cycles at level D0 have no drift event. An observation between both reads is newer.
  const newest = events[0];
  const drift_level = newest !== undefined && newest.cycle >= cycle ? newest.drift_level : 'D0';
  return { cycle, mode_strengths, energy_level, stress_state, stability_index, drift_level };
}

function stepOf({ snapshot, drift, contract }: Processed) {
  return { cycle: snapshot.cycle, drift_level: drift.level, contract };
}

function verdictOn(action: KnownAction, contract: Contract) {
  const { allowed_actions: allowed, forbidden_actions, stress_state, energy_level } = contract;
  if (forbidden_actions.includes(action)) {
    const state = `stress is ${stress_state}, energy ${energy_level.toFixed(2)}`;
    const instead = `Allowed: ${allowed.join(', ')}.`;
    const reason = `The contract forbids ${action} now: ${state}. ${instead}`;
    return { action, verdict: 'forbidden', reason } as const;
  }
  if (allowed.includes(action)) {
    return { action, verdict: 'allowed', reason: `The contract allows ${action}.` } as const;
  }
  const reason = `The contract neither allows nor forbids ${action}: the agent decides.`;
  return { action, verdict: 'open', reason } as const;
}
