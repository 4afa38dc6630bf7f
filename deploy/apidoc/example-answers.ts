import { WHOLE_SCOPE } from '#accounts/api-key';
import { ExampleDay } from '#deploy/apidoc/example-day';
import {
  EXAMPLE_REQUEST_ID,
  type ExampleService,
  openExampleService,
} from '#deploy/apidoc/example-service';
import { Probes } from '#deploy/apidoc/refusal-probes';
import type { ExampleAnswer } from '#edge/document/openapi';
import { refusalFor, refusalsOf, statusOf } from '#edge/document/refusals';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { faultReply } from '#edge/serve/reply';
import type { FaultReason } from '#errors/error-reasons';
import { Fault } from '#errors/fault';

/**
 * Refusals that need invalid HTTP or a failing cluster. Their examples are composed without a
 * request.
 */
const COMPOSED = {
  request_timeout: 'the request took too long to arrive',
  uri_too_long: 'a part of the URL is too long',
  expectation_failed: 'the only supported expectation is 100-continue',
  headers_too_large: 'the request headers are too large',
  http_version_not_supported: 'the oldest version is HTTP/1.1',
  too_many_tags: 'the account has too many different tags for filters and counts',
} as const satisfies Partial<Record<FaultReason, string>>;

/**
 * Answers of the real service to a fixed series of requests: for every endpoint all successes, and
 * a refusal per status. The answers are the same in every run.
 */
export async function exampleAnswers(): Promise<ExampleAnswer[]> {
  await using service = await openExampleService();
  const day = new ExampleDay(service, (await openAccount(service, {})).full);
  await day.runDay();
  const poor = new ExampleDay(service, (await openAccount(service, { cyclesPerMonth: 1 })).full);
  await poor.runOneCycle();
  const buyer = await openAccount(service, { plan: 'free' });
  const bought = new ExampleDay(service, buyer.full);
  await bought.buy(buyer.id);
  const probes = await openProbes(service);
  const answers = [...day.answers, ...poor.answers, ...bought.answers];
  for (const endpoint of ENDPOINTS) {
    answers.push(...(await probes.refusalsOf(endpoint)), ...composedAnswers(endpoint));
  }
  // Last, because more than a week passes.
  const late = new ExampleDay(service, (await openAccount(service, {})).full);
  await late.readLate();
  answers.push(...late.answers);
  return answers;
}

type Account = { readonly id: string; readonly full: string; readonly readOnly: string };

type AccountChoice = {
  readonly plan?: 'free';
  readonly requestsPerMinute?: number;
  readonly cyclesPerMonth?: number;
};

/**
 * Creates an account with a full and a read-only key, as `Authorization` headers. Limits are high
 * by default.
 */
async function openAccount(
  { admin }: ExampleService,
  { plan, requestsPerMinute = 1_000, cyclesPerMonth = 100_000 }: AccountChoice,
): Promise<Account> {
  const limits = { requestsPerMinute, cyclesPerMonth };
  const choice = plan === undefined ? ({ plan: 'enterprise', limits } as const) : { plan };
  const { id } = await admin.createAccount({ name: 'example', choice });
  const full = await admin.createKey(id, { scope: WHOLE_SCOPE });
  const readOnly = await admin.createKey(id, { scope: 'read' });
  return { id, full: `Bearer ${full.key}`, readOnly: `Bearer ${readOnly.key}` };
}

async function openProbes(service: ExampleService): Promise<Probes> {
  const { full, readOnly } = await openAccount(service, {});
  const suspended = await openAccount(service, {});
  await service.admin.setStatus(suspended.id, 'suspended');
  const rateLimited = await openAccount(service, { requestsPerMinute: 1 });
  const headers = { authorization: rateLimited.full };
  await service.ask({ method: 'GET', url: '/personas', headers });
  return new Probes(service, {
    full,
    readOnly,
    suspended: suspended.full,
    rateLimited: rateLimited.full,
  });
}

function composedAnswers(endpoint: Endpoint): ExampleAnswer[] {
  const { name, refusalCodes } = endpoint;
  const billingCodes = refusalCodes.filter((code) => code === 'billing_provider_not_configured');
  const possible = refusalsOf(endpoint).flatMap(({ reasons }) => reasons);
  const fromCodes = billingCodes.map((code) => {
    const fault = new Fault(code, 'no payment provider is set up');
    const body = JSON.parse(faultReply(fault, EXAMPLE_REQUEST_ID).body);
    return { endpoint: name, status: fault.httpStatus, summary: fault.message, body };
  });
  const fromReasons = Object.entries(COMPOSED).flatMap(([token, summary]) => {
    const reason = possible.find((row) => row === token);
    if (reason === undefined) return [];
    const refusal = refusalFor(reason);
    const fault = new Fault(refusal.code, summary, { reason });
    const body = JSON.parse(faultReply(fault, EXAMPLE_REQUEST_ID).body);
    return [{ endpoint: name, status: statusOf(refusal), summary, body }];
  });
  return [...fromCodes, ...fromReasons];
}
