import { z } from 'zod';
import { type ClusterPlan, clusterPlan } from '#deploy/local/cluster-plan';
import { readCluster, supervisorFolder } from '#deploy/local/cluster-record';
import { readSecrets } from '#deploy/local/cluster-secrets';
import { runningServer } from '#deploy/local/servers/server-record';
import { clusterFolder } from '#deploy/local/state-folder';
import { BadRequest, type Options } from '#loadtest/options';

/** Target of a load. */
export type Target = {
  /** Base URL without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /**
   * Plan of the local cluster if the local cluster is the target; otherwise undefined. The load
   * test creates accounts in this cluster and may kill an engine.
   */
  readonly cluster: ClusterPlan | undefined;
};

/** Limits of a key's account, and the remaining cycles of the month. */
export type PlanLeft = {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly cyclesPerMonth: number;
  readonly cyclesLeft: number;
  readonly instancesMax: number;
};

/** Timeout of the first answer in ms. The service may have to load the account. */
const ANSWER_MS_MAX = 10_000;

const AccountAnswer = z.object({
  data: z.object({
    plan: z.object({
      name: z.string(),
      requests_per_minute: z.number(),
      cycles_per_month: z.number(),
      instances_max: z.number(),
    }),
    usage: z.object({ month: z.object({ remaining: z.number() }) }),
  }),
});

/**
 * Returns the given address or, without an address, the running local cluster. Throws `BadRequest`
 * if no cluster runs either.
 */
export function findTarget({ address }: Pick<Options, 'address'>): Target {
  if (address !== undefined) return { ...address, cluster: undefined };
  const folder = clusterFolder();
  const record = readCluster(folder);
  const isRunning = runningServer(supervisorFolder(folder)) !== undefined;
  const key = readSecrets(folder)?.apiKey;
  if (!isRunning || record === undefined) {
    const hint = 'start a cluster with `make cluster`, or set BASE_URL and API_KEY';
    throw new BadRequest(`no cluster runs in ${folder}: ${hint}`);
  }
  if (!record.isReady || key === undefined) {
    throw new BadRequest(
      `the cluster in ${folder} is not ready yet: check \`make cluster-status\``,
    );
  }
  const cluster = clusterPlan(record.size);
  return { baseUrl: cluster.address, apiKey: key, cluster };
}

/**
 * Reads the key's account from the target. Throws `BadRequest` if the target is unreachable or
 * refuses the key.
 */
export async function lookAtPlan({ baseUrl, apiKey }: Target): Promise<PlanLeft> {
  const url = `${baseUrl}/v1/account`;
  const { status, text } = await answerOf(url, apiKey).catch((error: Error) => {
    const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
    throw new BadRequest(`nothing answers at ${baseUrl}: ${code ?? message}`);
  });
  if (status === 401) throw new BadRequest(`${baseUrl} refuses the key in API_KEY`);
  const parsed = AccountAnswer.safeParse(jsonOf(text));
  if (status !== 200 || !parsed.success) {
    const said = text.slice(0, 200).replace(/\s+/g, ' ');
    throw new BadRequest(`${url} answers ${status} instead of an account: ${said}`);
  }
  const { plan, usage } = parsed.data.data;
  return {
    name: plan.name,
    requestsPerMinute: plan.requests_per_minute,
    cyclesPerMonth: plan.cycles_per_month,
    cyclesLeft: usage.month.remaining,
    instancesMax: plan.instances_max,
  };
}

async function answerOf(url: string, apiKey: string) {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    redirect: 'manual',
  });
  return { status: response.status, text: await response.text() };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
